// Draws the page's curves, answers the pointer and the arrow keys, and follows a run that goes on.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLOURS = ["--first", "--second", "--third", "--fourth", "--fifth", "--sixth"];
  const HEIGHT = 220, LEFT = 52, RIGHT = 14, TOP = 10, BOTTOM = 34;

  const element = (name, attributes, parent, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const colour = (place) => `var(${COLOURS[place % COLOURS.length]})`;
  const remembered = {
    get: (key) => { try { return sessionStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* a browser that keeps nothing */ } },
  };

  const words = (number) => {
    const size = Math.abs(number);
    if (size >= 1e6) return `${+(number / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(number / 1e3).toPrecision(3)}k`;
    if (size > 0 && size < 1e-3) return number.toExponential(1);
    return String(+number.toPrecision(4));
  };

  const evenTicks = (low, high, wanted) => {
    const rough = (high - low) / wanted || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.75);
    const ticks = [];
    // Counted: beyond 2 to the 53rd a number plus one is the same number.
    for (let tick = Math.ceil(low / step); tick * step <= high + step * 1e-9 && ticks.length < 100; tick++) ticks.push(tick * step);
    return ticks;
  };
  const logTicks = (low, high) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
      for (const each of [1, 2, 5]) if (each * 10 ** power >= low && each * 10 ** power <= high) ticks.push(each * 10 ** power);
    return ticks.length >= 2 ? ticks : evenTicks(low, high, 4).filter((tick) => tick > 0);
  };

  const draw = (figure, chart) => {
    const isLog = figure.querySelector("input")?.checked ?? false;
    const svg = figure.querySelector("svg");
    const width = Math.max(figure.clientWidth - 34, 200);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const series = chart.series.map((each) => each.points.filter(([, y]) => !isLog || y > 0));
    const all = series.flat();
    if (!all.length) return;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of all) [left, right, low, high] = [Math.min(left, x), Math.max(right, x), Math.min(low, y), Math.max(high, y)];
    if (chart.zero && !isLog) low = Math.min(low, 0);
    if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
    if (left === right) [left, right] = [left - 1, right + 1];
    const scale = isLog ? Math.log : (value) => value;
    const across = (x) => LEFT + (x - left) / (right - left) * (width - LEFT - RIGHT);
    const down = (y) => HEIGHT - BOTTOM - (scale(y) - scale(low)) / (scale(high) - scale(low)) * (HEIGHT - TOP - BOTTOM);

    for (const tick of isLog ? logTicks(low, high) : evenTicks(low, high, 5)) {
      element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: down(tick), y2: down(tick) }, svg);
      element("text", { x: LEFT - 6, y: down(tick) + 4, "text-anchor": "end" }, svg, words(tick));
    }
    for (const tick of evenTicks(left, right, Math.max(2, Math.floor(width / 90))))
      element("text", { x: across(tick), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, svg, words(tick));
    element("text", { x: width - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, svg, chart.x);
    for (const mark of chart.marks) {
      if (mark.x < left || mark.x > right) continue;
      const line = element("line", { class: "mark", x1: across(mark.x), x2: across(mark.x), y1: TOP, y2: HEIGHT - BOTTOM }, svg);
      element("title", {}, line, mark.text);
    }
    series.forEach((points, place) => {
      const path = points.map(([x, y], at) => `${at ? "L" : "M"}${across(x).toFixed(1)} ${down(y).toFixed(1)}`).join("");
      element("path", { class: "curve", d: path, fill: "none", stroke: colour(place), "stroke-width": 1.8, "stroke-linejoin": "round" }, svg);
      if (points.length < 25) for (const [x, y] of points) element("circle", { cx: across(x), cy: down(y), r: 2.4, fill: colour(place) }, svg);
    });
    figure.look = follow(figure, chart, series, svg, across, down);
  };

  // A line under the pointer, and the values of all curves at the nearest place.
  const follow = (figure, chart, series, svg, across, down) => {
    const places = [...new Set(series.flat().map(([x]) => x))].sort((a, b) => a - b);
    const tip = figure.querySelector(".tip");
    let at = places.length - 1;
    let drawn = [];
    const clear = () => { drawn.forEach((each) => each.remove()); drawn = []; tip.hidden = true; };
    const show = () => {
      clear();
      const x = places[at];
      drawn.push(element("line", { class: "cursor", x1: across(x), x2: across(x), y1: TOP, y2: HEIGHT - BOTTOM }, svg));
      const lines = [`${chart.x} ${words(x)}`];
      series.forEach((points, place) => {
        const near = points.reduce((best, each) => (!best || Math.abs(each[0] - x) < Math.abs(best[0] - x) ? each : best), null);
        if (!near) return;
        drawn.push(element("circle", { cx: across(near[0]), cy: down(near[1]), r: 4, fill: colour(place) }, svg));
        lines.push(`${chart.series[place].name} ${words(near[1])}${chart.unit}${near[0] === x ? "" : ` (at ${words(near[0])})`}`);
      });
      tip.replaceChildren(...lines.flatMap((line, place) => (place ? [document.createElement("br"), line] : [line])));
      tip.hidden = false;
      const box = svg.getBoundingClientRect(), frame = figure.getBoundingClientRect();
      const spot = across(x) / svg.viewBox.baseVal.width * box.width + box.left - frame.left;
      tip.style.left = `${Math.min(Math.max(spot + 10, 4), frame.width - tip.offsetWidth - 4)}px`;
      tip.style.top = `${box.top - frame.top + 6}px`;
    };
    return {
      clear,
      point: (event) => {
        const box = svg.getBoundingClientRect();
        const wanted = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
        at = places.reduce((best, x, place) => (Math.abs(across(x) - wanted) < Math.abs(across(places[best]) - wanted) ? place : best), 0);
        show();
      },
      move: (by) => { at = Math.min(Math.max(at + by, 0), places.length - 1); show(); },
    };
  };

  const figures = data.charts.map((chart) => {
    const figure = document.getElementById(chart.id);
    const svg = figure.querySelector("svg"), box = figure.querySelector("input");
    const legend = figure.querySelector(".legend");
    chart.series.forEach((each, place) => {
      const name = document.createElement("span"), line = document.createElement("i");
      line.style.background = colour(place);
      name.append(line, each.name);
      legend.append(name);
    });
    if (box) {
      box.checked = remembered.get(`log ${chart.id}`) === "yes";
      box.addEventListener("change", () => { remembered.set(`log ${chart.id}`, box.checked ? "yes" : "no"); draw(figure, chart); });
    }
    svg.addEventListener("pointermove", (event) => figure.look?.point(event));
    svg.addEventListener("pointerleave", () => figure.look?.clear());
    svg.addEventListener("blur", () => figure.look?.clear());
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) { event.preventDefault(); figure.look?.move(by); }
    });
    return [figure, chart];
  });
  const drawAll = () => figures.forEach(([figure, chart]) => draw(figure, chart));
  drawAll();
  window.addEventListener("resize", drawAll);
  window.addEventListener("beforeprint", drawAll);

  // A page that is still being written is looked at again; one that no longer is, says so.
  if (data.again_after) {
    const age = document.getElementById("age"), silent = document.getElementById("silent");
    const tell = () => {
      const seconds = Math.max(0, Math.round(Date.now() / 1000 - data.written));
      age.textContent = seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
      silent.hidden = seconds < data.silent_after;
    };
    tell();
    setInterval(tell, 1000);
    const again = () => { if (!document.hidden) location.reload(); };
    setInterval(again, data.again_after * 1000);
  }
})();
