// What can be done to a chart: switches, hidden curves, values under the pointer, zoom; all of it by keys too.
const NO_CHOICE = { log: false, smooth: false, hidden: [], zoom: null };

const setUp = (chart) => {
  const figure = document.getElementById(chart.id), svg = figure.querySelector("svg");
  if (chart.scatter) return () => drawScatter(figure, chart);
  const chosen = { ...NO_CHOICE, ...remembered.get(chart.id) };
  const tools = figure.querySelector(".tools");
  let view = null, read = null, from = null, band = null;

  const draw = () => {
    read?.clear();
    view = drawCurves(figure, chart, chosen);
    read = view && reader(figure, chart, view);
    reset.hidden = !chosen.zoom;
  };
  const choose = (change) => { Object.assign(chosen, change); remembered.set(chart.id, chosen); draw(); };
  const zoomTo = (left, right) => {
    const [least, most] = view.whole;
    const isWhole = left <= least && right >= most;
    if (right - left > (most - least) / 1000) choose({ zoom: isWhole ? null : [Math.max(left, least), Math.min(right, most)] });
  };

  const addSwitch = (name, text) => {
    const label = made(tools, "label");
    const box = made(label, "input", { type: "checkbox" });
    label.append(` ${text}`);
    box.checked = chosen[name];
    box.addEventListener("change", () => choose({ [name]: box.checked }));
  };
  const reset = made(tools, "button", { type: "button" }, "Reset zoom");
  reset.addEventListener("click", () => { choose({ zoom: null }); svg.focus(); });
  if (chart.series.some(({ points }) => points.length >= ENOUGH_TO_SMOOTH)) addSwitch("smooth", "smooth");
  if (chart.log) addSwitch("log", "log scale");
  if (chart.legend) chart.series.forEach(({ name, place }, number) => {
    const button = made(figure.querySelector(".legend"), "button", { type: "button", title: "Show or hide", dir: "auto" });
    const line = made(made(button, "svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }), "path", { d: "M0 5H26", stroke: colour(place), ...dashes(place) });
    line.classList.add("curve");
    button.append(name);
    const tell = () => button.setAttribute("aria-pressed", !chosen.hidden.includes(number));
    button.addEventListener("click", () => {
      choose({ hidden: chosen.hidden.includes(number) ? chosen.hidden.filter((each) => each !== number) : [...chosen.hidden, number] });
      tell();
    });
    tell();
  });

  const spot = (event) => {
    const box = svg.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * view.width;
  };
  const drop = () => { from = null; band?.remove(); band = null; };
  svg.addEventListener("pointerdown", (event) => {
    if (!view || event.button || event.pointerType === "touch") return;  // a finger reads values
    from = spot(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!view) return;
    read.point(spot(event));
    if (from === null) return;
    band?.remove();
    const [left, right] = [from, spot(event)].sort((a, b) => a - b);
    band = made(svg, "rect", { class: "band", x: left, y: TOP, width: right - left, height: HEIGHT - TOP - BOTTOM });
  });
  svg.addEventListener("pointerup", (event) => {
    if (from === null || !view) return;
    const [left, right] = [from, spot(event)].sort((a, b) => a - b);
    drop();
    if (right - left > 6) zoomTo(view.back(left), view.back(right));
  });
  svg.addEventListener("pointercancel", drop);
  svg.addEventListener("dblclick", () => choose({ zoom: null }));
  for (const leaving of ["pointerleave", "blur"]) svg.addEventListener(leaving, () => read?.clear());
  svg.addEventListener("keydown", (event) => {
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return;
    const around = (share) => {
      const middle = read.place(), half = (view.right - view.left) * share / 2;
      zoomTo(middle - half, middle + half);
      read?.point(view.across(middle));
    };
    const slide = (share) => {
      const by = Math.min(Math.max((view.right - view.left) * share, view.whole[0] - view.left), view.whole[1] - view.right);
      if (chosen.zoom) zoomTo(view.left + by, view.right + by);
    };
    const action = {
      ArrowLeft: () => (event.shiftKey ? slide(-0.25) : read.move(-1)),
      ArrowRight: () => (event.shiftKey ? slide(0.25) : read.move(1)),
      "+": () => around(0.5), "=": () => around(0.5), "-": () => around(2),
      Escape: () => { drop(); choose({ zoom: null }); },
    }[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  return draw;
};
