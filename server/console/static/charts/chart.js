// An answer as a picture: bars, a histogram, lines over time or boxes, each with its intervals; or one big number.

import { element } from "../dom.js";
import { isMoment, isNumber, number, range } from "../format.js";
import { words } from "./axes.js";
import { bars } from "./bars.js";
import { boxes, quantilesOf } from "./boxes.js";
import { histogram } from "./histogram.js";
import { lines } from "./lines.js";

const MOST_PANELS = 6;

export function chart(answer, width) {
  const columns = answer.columns.map((column, index) => ({ ...column, index }));
  const quantiles = quantilesOf(columns, answer.rows.length === 1);
  const others = columns.filter((column) => !Object.values(quantiles ?? {}).includes(column));
  const keys = others.filter(({ index }) => !measured(answer, index));
  const values = others.filter(({ index }) => measured(answer, index));
  const boxed = quantiles && boxes(answer, keys, quantiles, width);
  const drawn = answer.rows.length === 1
    ? values.map((value) => bigNumber(answer, value))
    : values.flatMap((value) => figures(answer, keys, value, width));
  if (boxed) drawn.unshift(figure(boxed, "Quantiles", keys));
  return drawn.length ? element("div", {}, drawn) : element("p", {}, "Nothing to draw here: see the table.");
}

function measured({ columns, intervals }, index) {
  return isNumber(columns[index].type) && intervals.some((row) => row[index] !== null);
}

function bigNumber({ rows, intervals }, { index, name, type }) {
  const interval = intervals[0][index];
  return element("p", {}, `${name}`, element("span", { class: "big-number" }, element("br"), number(rows[0][index], type)),
    interval ? element("span", { class: "hint" }, element("br"), range(interval)) : null);
}

function figures({ rows, intervals, weak, cut }, keys, { index, name, type }, width) {
  const points = rows.map((row, place) => ({
    key: row[keys[0]?.index],
    label: words(keys, row),
    panel: words(keys.slice(1), row),
    value: row[index],
    low: intervals[place][index]?.low ?? row[index],
    high: intervals[place][index]?.high ?? row[index],
    weak: (weak[place] || cut[place]) ?? false,
    told: told(words(keys, row), row[index], type, intervals[place][index]),
  })).filter(({ value }) => value !== null);
  if (!points.length) return [];
  const panels = d3.groups(points, ({ panel }) => panel);
  if (keys.length && isNumber(keys[0].type) && panels.length <= MOST_PANELS) {
    const rest = keys.slice(1).map((key) => key.name).join(", ");
    return panels.map(([panel, shown]) => {
      const title = rest && `${rest}: ${panel}`;
      return figure(histogram(shown, points, { title, key: keys[0].name, name, width }), name, keys);
    });
  }
  const draw = keys.length === 1 && isMoment(keys[0].type) && points.some(({ key }) => key !== null) ? lines : bars;
  return [figure(draw(points, name, width), name, keys)];
}

function told(label, value, type, interval) {
  return [label, number(value, type), interval ? range(interval) : ""].filter(Boolean).join("\n");
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
