// Draws the curves and scatters of a page.
const COLOURS = ["--first", "--second", "--third", "--fourth", "--fifth", "--sixth"];
// Curves that lie on each other can be told apart: each one above shows those below between its dashes.
const DASHES = ["", "6 4", "2 3", "9 3 2 3", "12 5", "4 2"];
const MARKERS = ["M-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0", "M-4-4h8v8h-8z", "M0-6L6 0L0 6L-6 0z", "M0-6L5.5 4H-5.5z", "M-5-5L5 5M-5 5L5-5", "M-7 0H7M0-7V7"];
const HEIGHT = 240, LEFT = 68, RIGHT = 14, TOP = 10, BOTTOM = 42, FEW_POINTS = 12, ENOUGH_TO_SMOOTH = 12;
const colour = (place) => `var(${COLOURS[place % COLOURS.length]})`;
// Where the colours begin again, the dashes and markers are one further on.
const turned = (kinds, place) => kinds[(place + Math.floor(place / COLOURS.length)) % kinds.length];
const dashes = (place) => ({ "stroke-dasharray": turned(DASHES, place) });

const axes = (view, chart, isLog) => {
  const { svg, width, height, across, down, left, right, low, high } = view;
  for (const tick of isLog ? logTicks(low, high) : evenTicks(low, high, 5)) {
    made(svg, "line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: down(tick), y2: down(tick) });
    made(svg, "text", { x: LEFT - 6, y: down(tick) + 4, "text-anchor": "end" }, words(tick));
  }
  for (const tick of evenTicks(left, right, Math.max(2, Math.floor(width / 70))))
    made(svg, "text", { x: across(tick), y: height - BOTTOM + 15, "text-anchor": "middle" }, words(tick));
  const middle = TOP + (height - TOP - BOTTOM) / 2;
  made(svg, "text", { class: "axis", x: LEFT + (width - LEFT - RIGHT) / 2, y: height - 6, "text-anchor": "middle" }, chart.x);
  made(svg, "text", { class: "axis", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, chart.y);
};

const viewOf = (svg, width, height, [left, right], [low, high], isLog) => {
  const scale = isLog ? Math.log : (value) => value;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return {
    svg, width, height, left, right, low, high,
    across: (x) => LEFT + (x - left) / (right - left) * (width - LEFT - RIGHT),
    back: (place) => left + (place - LEFT) / (width - LEFT - RIGHT) * (right - left),
    down: (y) => height - BOTTOM - (scale(y) - scale(low)) / (scale(high) - scale(low)) * (height - TOP - BOTTOM),
  };
};

const drawScatter = (figure, chart) => {
  const [{ points }] = chart.series;
  const side = Math.min(Math.max(figure.clientWidth - 34, 200), 460);
  const range = rangeOf(points.flat());
  const view = viewOf(figure.querySelector("svg"), side + LEFT + RIGHT - TOP - BOTTOM, side, range, range);
  axes(view, chart);
  const { svg, across, down } = view;
  made(svg, "line", { class: "level", x1: across(range[0]), y1: down(range[0]), x2: across(range[1]), y2: down(range[1]) });
  for (const [x, y] of points) {
    const dot = made(svg, "circle", { class: "dot", cx: across(x), cy: down(y), r: 3 });
    made(dot, "title", {}, `actual ${words(x)}, predicted ${words(y)}`);
  }
};

const drawCurves = (figure, chart, chosen) => {
  const isLog = chosen.log;
  const series = chart.series.map(({ points }, number) => (chosen.hidden.includes(number) ? [] : points.filter(([, y]) => !isLog || y > 0)));
  const all = series.flat();
  const svg = figure.querySelector("svg");
  svg.replaceChildren();
  if (!all.length) return null;
  const whole = rangeOf([0, chart.until, ...all.map(([x]) => x)]);
  const [left, right] = chosen.zoom ?? whole;
  const seen = all.filter(([x]) => x >= left && x <= right);
  const heights = (seen.length ? seen : all).map(([, y]) => y);
  if (chart.level && (!isLog || chart.level.at > 0)) heights.push(chart.level.at);
  if (chart.zero && !isLog) heights.push(0);
  const view = viewOf(svg, Math.max(figure.clientWidth - 34, 200), HEIGHT, [left, right], rangeOf(heights, isLog), isLog);
  const { width, across, down } = view;
  axes(view, chart, isLog);
  const clip = made(svg, "clipPath", { id: `clip-${chart.id}` });
  made(clip, "rect", { x: LEFT - 8, y: 0, width: width - LEFT - RIGHT + 16, height: HEIGHT });
  const inside = made(svg, "g", { "clip-path": `url(#clip-${chart.id})` });
  for (const mark of chart.marks) {
    const line = made(inside, "line", { class: "mark", x1: across(mark.at), x2: across(mark.at), y1: TOP, y2: HEIGHT - BOTTOM });
    made(line, "title", {}, mark.text);
  }
  if (chart.level && heights.includes(chart.level.at)) {
    const y = down(chart.level.at);
    made(inside, "line", { class: "level", x1: LEFT, x2: width - RIGHT, y1: y, y2: y });
  }
  const draw = (points, place, kind) => {
    const path = points.map(([x, y], at) => `${at ? "L" : "M"}${across(x).toFixed(1)} ${down(y).toFixed(1)}`).join("");
    made(inside, "path", { class: kind, d: path, stroke: colour(place), ...dashes(place) });
  };
  series.forEach((points, number) => {
    if (!points.length) return;
    const { place } = chart.series[number];
    const isSmooth = chosen.smooth && points.length >= ENOUGH_TO_SMOOTH;
    draw(points, place, isSmooth ? "curve raw" : "curve");
    if (isSmooth) draw(smoothed(points), place, "curve smooth");
    const shown = points.filter(([x]) => x >= left && x <= right);
    if (shown.length < FEW_POINTS && !isSmooth) for (const [x, y] of shown)
      made(inside, "path", { class: "marker", d: turned(MARKERS, place), stroke: colour(place), fill: place ? "none" : colour(0), transform: `translate(${across(x).toFixed(1)} ${down(y).toFixed(1)})` });
  });
  if (chart.level && heights.includes(chart.level.at)) nameLevel(inside, chart.level, series, view);
  return { ...view, whole, series };
};

// The words of a level, at whichever end and side of its line the fewest points of curves are.
const nameLevel = (parent, level, series, { width, across, down }) => {
  const y = down(level.at), long = 6.5 * level.text.length;
  const spots = series.flat().flatMap(([x, value], at, all) => [0, 0.25, 0.5, 0.75].map((share) => {
    const [nextX, next] = all[at + 1] ?? [x, value];
    return [across(x + share * (nextX - x)), down(value + share * (next - value))];
  }));
  const places = [[width - RIGHT, "end"], [LEFT + 4, "start"]].flatMap(([x, anchor]) => [-6, 15].map((below) => ({ x, anchor, y: y + below })));
  const covered = (place) => {
    const left = place.anchor === "end" ? place.x - long : place.x;
    const isOut = place.y < TOP + 8 || place.y > HEIGHT - BOTTOM - 2;
    return 1000 * isOut + spots.filter(([x, at]) => x >= left - 4 && x <= left + long + 4 && at >= place.y - 14 && at <= place.y + 6).length;
  };
  const best = places.reduce((one, other) => (covered(other) < covered(one) ? other : one));
  made(parent, "text", { class: "named", x: best.x, y: best.y, "text-anchor": best.anchor }, level.text);
};

// A line at one place, and the values of all curves nearest to it.
const reader = (figure, chart, view) => {
  const { svg, series, across, down, left, right } = view;
  const places = [...new Set(series.flat().map(([x]) => x))].filter((x) => x >= left && x <= right).sort((a, b) => a - b);
  const tip = figure.querySelector(".tip");
  let at = places.length - 1, drawn = [];
  const clear = () => { drawn.forEach((each) => each.remove()); drawn = []; tip.hidden = true; };
  const show = () => {
    clear();
    if (!places.length) return;
    const x = places[at];
    drawn.push(made(svg, "line", { class: "cursor", x1: across(x), x2: across(x), y1: TOP, y2: HEIGHT - BOTTOM }));
    const lines = [`${chart.x} ${words(x)}`];
    series.forEach((points, number) => {
      const { name, place } = chart.series[number];
      const near = points.reduce((best, each) => (!best || Math.abs(each[0] - x) < Math.abs(best[0] - x) ? each : best), null);
      if (!near) return;
      drawn.push(made(svg, "circle", { cx: across(near[0]), cy: down(near[1]), r: 4, fill: colour(place) }));
      lines.push(`${name} ${words(near[1])}${chart.unit}${near[0] === x ? "" : ` (at ${words(near[0])})`}`);
    });
    tip.replaceChildren(...lines.flatMap((line, place) => (place ? [document.createElement("br"), line] : [line])));
    tip.hidden = false;
    const box = svg.getBoundingClientRect(), frame = figure.getBoundingClientRect();
    const spot = across(x) / view.width * box.width + box.left - frame.left;
    tip.style.left = `${Math.min(Math.max(spot + 10, 4), frame.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${box.top - frame.top + 6}px`;
  };
  return {
    clear,
    place: () => places[at] ?? (left + right) / 2,
    point: (wanted) => {
      at = places.reduce((best, x, place) => (Math.abs(across(x) - wanted) < Math.abs(across(places[best]) - wanted) ? place : best), 0);
      show();
    },
    move: (by) => { at = Math.min(Math.max(at + (drawn.length ? by : 0), 0), places.length - 1); show(); },
  };
};
