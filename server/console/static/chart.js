// An answer as a picture: bars with error bars, lines over time, or one big number.

import { element } from "./dom.js";
import { isNumber, number, range } from "./format.js";

const MOST_BARS = 60;

export function chart(answer, width) {
  const keys = answer.columns.map((column, index) => ({ ...column, index })).filter(({ index }) => !measured(answer, index));
  const values = answer.columns.map((column, index) => ({ ...column, index })).filter(({ index }) => measured(answer, index));
  if (!values.length || !answer.rows.length) return element("p", {}, "Nothing to draw here: see the table.");
  if (answer.rows.length === 1) return element("div", {}, values.map((value) => bigNumber(answer, value)));
  return element("div", {}, values.map((value) => figure(answer, keys, value, width)));
}

function measured({ columns, intervals }, index) {
  return isNumber(columns[index].type) && intervals.some((row) => row[index] !== null);
}

function bigNumber({ rows, intervals }, { index, name, type }) {
  const interval = intervals[0][index];
  return element("p", {}, `${name}`, element("span", { class: "big-number" }, element("br"), number(rows[0][index], type)),
    interval ? element("span", { class: "hint" }, element("br"), range(interval)) : null);
}

function figure({ rows, intervals, weak }, keys, { index, name, type }, width) {
  const data = rows.map((row, place) => ({
    key: keys.map((key) => row[key.index] ?? "NULL").join(", "),
    value: row[index],
    low: intervals[place][index]?.low ?? row[index],
    high: intervals[place][index]?.high ?? row[index],
    weak: weak[place] ?? false,
  })).filter(({ value }) => value !== null);
  const time = keys.length === 1 && (keys[0].type === "date" || keys[0].type === "timestamp");
  const drawn = time ? lines(data, name, width) : bars(data.slice(0, MOST_BARS), name, width);
  for (const part of drawn.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // parts of one picture
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `${name} by ${keys.map((key) => key.name).join(", ")}; the table has every number`);
  const more = !time && data.length > MOST_BARS ? element("p", { class: "hint" }, `The first ${MOST_BARS} of ${data.length} rows.`) : null;
  return element("figure", {}, drawn, more);
}

function bars(data, name, width) {
  return Plot.plot({
    width, marginLeft: 120, marginRight: 30, height: 40 + 24 * data.length,
    x: { label: name, grid: true, tickFormat: "~s" }, y: { label: null, domain: data.map(({ key }) => key) },
    marks: [
      Plot.barX(data, { x: "value", y: "key", fill: "var(--accent)", fillOpacity: ({ weak }) => (weak ? 0.35 : 0.85) }),
      Plot.ruleY(data, { x1: "low", x2: "high", y: "key", stroke: "var(--ink)", strokeWidth: 1.5, marker: "tick" }),
      Plot.ruleX([0], { stroke: "var(--soft)" }),
    ],
  });
}

function lines(data, name, width) {
  const points = data.map((point) => ({ ...point, when: new Date(point.key.replace(" ", "T")) }));
  return Plot.plot({
    width, height: 320, marginLeft: 60,
    x: { label: null }, y: { label: name, grid: true, tickFormat: "~s", zero: true },
    marks: [
      Plot.areaY(points, { x: "when", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25 }),
      Plot.lineY(points, { x: "when", y: "value", stroke: "var(--accent)", strokeWidth: 2 }),
      Plot.dot(points, { x: "when", y: "value", fill: "var(--accent)", r: 2.5 }),
    ],
  });
}
