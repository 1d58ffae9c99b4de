// An answer as a picture: bars, a histogram, lines over time, a field or boxes, with intervals; or one big number.

import { element } from "../common/dom.js";
import { isMoment, isNumber, range } from "../common/format.js";
import { STATES, stateOf, statesOf } from "../answer/marks.js";
import { exact, worded } from "../answer/table.js";
import { words } from "./axes.js";
import { bars } from "./bars.js";
import { boxes, quantilesOf } from "./boxes.js";
import { heatmap } from "./heatmap.js";
import { histogram } from "./histogram.js";
import { lines } from "./lines.js";
import { SERIES } from "./states.js";

const MOST_PANELS = 6;

// ordered: does the question say in which order its rows are?
export function chart(answer, width, { ordered = false } = {}) {
  const columns = answer.columns.map((column, index) => ({ ...column, index }));
  const quantiles = quantilesOf(columns, answer.rows.length === 1);
  const others = columns.filter((column) => !Object.values(quantiles ?? {}).includes(column));
  const keys = others.filter(({ index }) => !measured(answer, index));
  const values = others.filter(({ index }) => measured(answer, index));
  const boxed = quantiles && boxes(answer, keys, quantiles, width);
  const drawn = answer.rows.length === 1
    ? values.map((value) => bigNumber(answer, keys, value))
    : values.flatMap((value) => figures(answer, keys, value, { width, ordered }));
  if (boxed) drawn.unshift(figure(boxed, "Quantiles", keys));
  return drawn.length ? element("div", {}, drawn) : element("p", {}, "Nothing to draw here: see the table.");
}

// Is there anything to draw? Without it the table says more.
export function drawable(answer) {
  const columns = answer.columns.map((column, index) => ({ ...column, index }));
  return columns.some(({ index }) => measured(answer, index)) || Boolean(quantilesOf(columns, answer.rows.length === 1));
}

// Would `chart` draw, or are its numbers words?
export function pictured(answer) {
  const columns = answer.columns.map((column, index) => ({ ...column, index }));
  return drawable(answer) && (answer.rows.length > 1 || Boolean(quantilesOf(columns, true)));
}

function measured({ columns, intervals }, index) {
  return isNumber(columns[index].type) && intervals.some((row) => row[index] !== null);
}

// Of one row: also whose it is, where it is a group's.
function bigNumber(answer, keys, { index, name, type }) {
  const { rows: [row], intervals: [around], raw } = answer;
  const interval = around[index];
  const own = raw?.[0]?.[index] ?? null;
  const states = statesOf(answer, 0);
  return element("p", { title: row[index] === null ? null : exact(row[index], own) }, [words(keys, row), name].filter(Boolean).join(": "),
    element("span", { class: `big-number ${states.join(" ")}` }, element("br"), worded(row[index], own, type, interval), states.map((state) => ` ${STATES[state].sign}`)),
    interval ? element("span", { class: "hint" }, element("br"), range(interval)) : null);
}

function figures(answer, keys, { index, name, type }, { width, ordered }) {
  const { rows, intervals, raw } = answer;
  const points = rows.map((row, place) => ({
    key: row[keys[0]?.index],
    cells: keys.map((key) => row[key.index]),
    label: words(keys, row),
    panel: words(keys.slice(1), row),
    value: row[index],
    low: intervals[place][index]?.low ?? row[index],
    high: intervals[place][index]?.high ?? row[index],
    state: stateOf(answer, place),
    weak: Boolean(answer.low_precision[place]), // also if it is clipped
    told: told(words(keys, row), worded(row[index], raw?.[place]?.[index] ?? null, type, intervals[place][index]), intervals[place][index]),
  })).filter(({ value }) => value !== null);
  if (!points.length) return [];
  const dates = keys.findIndex((key) => isMoment(key.type));
  if (dates >= 0 && keys.length <= 2 && points.some(({ cells }) => cells[dates] !== null)) {
    const drawn = overTime(points, keys, dates, name, width);
    if (drawn) return [figure(drawn, name, keys)];
  }
  const panels = d3.groups(points, ({ panel }) => panel);
  if (keys.length && isNumber(keys[0].type) && panels.length <= MOST_PANELS) {
    const rest = keys.slice(1).map((key) => key.name).join(", ");
    return panels.map(([panel, shown]) => {
      const title = rest && `${rest}: ${panel}`;
      return figure(histogram(shown, points, { title, key: keys[0].name, name, width }), name, keys);
    });
  }
  if (keys.length === 2 && isField(points)) return [figure(heatmap(points, keys, name, width), name, keys)];
  return [figure(bars(points, name, width, { ordered }), name, keys)];
}

// A line for each kind, if they are few enough to be distinguished; else nothing.
function overTime(points, keys, dates, name, width) {
  const kind = keys.length === 2 ? 1 - dates : null;
  const dated = points.map((point) => ({ ...point, key: point.cells[dates], panel: kind === null ? "" : String(point.cells[kind] ?? "NULL") }));
  if (new Set(dated.map(({ panel }) => panel)).size > SERIES.length) return null;
  const drawn = lines(dated, name, width);
  return kind === null ? drawn : { ...drawn, title: `${name} by ${keys[kind].name}` };
}

// Each pair of keys once, and more than one of either.
function isField(points) {
  const [first, second] = [0, 1].map((place) => new Set(points.map(({ cells }) => cells[place])).size);
  return first > 1 && second > 1 && new Set(points.map(({ cells }) => JSON.stringify(cells))).size === points.length;
}

function told(label, value, interval) {
  return [label, value, interval ? range(interval) : ""].filter(Boolean).join("\n");
}

// A picture is one thing to who hears it: its parts say nothing.
function figure({ title, picture, notes }, name, keys) {
  for (const part of picture.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  picture.setAttribute("role", "img");
  const by = keys.length ? ` by ${keys.map((key) => key.name).join(", ")}` : "";
  picture.setAttribute("aria-label", `${name}${by}${title ? `, ${title}` : ""}; the table has every number`);
  return element("figure", {}, title ? element("figcaption", {}, title) : null, picture,
    notes.map((note) => element("p", { class: "hint" }, note)));
}
