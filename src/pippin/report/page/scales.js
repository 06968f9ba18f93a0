// What charts and tables share: elements, numbers as words, ticks, and what a page remembers while it is open.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

const made = (parent, name, attributes = {}, text) => {
  const isSvg = parent.namespaceURI.endsWith("svg") || name === "svg";
  const element = document.createElementNS(isSvg ? "http://www.w3.org/2000/svg" : parent.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

// A page that is written anew loads anew: switches and zooms stay.
const remembered = {
  get: (key) => { try { return JSON.parse(sessionStorage.getItem(location.pathname + key)); } catch { return null; } },
  set: (key, value) => { try { sessionStorage.setItem(location.pathname + key, JSON.stringify(value)); } catch { /* a browser that keeps nothing */ } },
};

const words = (number) => {
  const size = Math.abs(number);
  if (size >= 1e6) return `${+(number / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(number / 1e3).toPrecision(3)}k`;
  if (size > 0 && size < 1e-3) return (+number.toPrecision(3)).toExponential();
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

// The lowest and highest of some values, never the same.
const rangeOf = (values, isLog) => {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low < high) return [low, high];
  return isLog ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
};

// Each value as the mean of its neighbours, as many on the left as on the right.
const smoothed = (points) => {
  const reach = Math.max(2, Math.round(points.length / 25));
  return points.map(([x], at) => {
    const near = Math.min(reach, at, points.length - 1 - at);
    const part = points.slice(at - near, at + near + 1);
    return [x, part.reduce((sum, [, y]) => sum + y, 0) / part.length];
  });
};
