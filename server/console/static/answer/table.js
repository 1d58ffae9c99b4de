// An answer as a table: noise is grey, values that noise made negative are marked, and hovering shows all digits.

import { element } from "../common/dom.js";
import { isMoment, isNumber, number, plain, range } from "../common/format.js";
import { sign, statesOf } from "./marks.js";

const MOST_ROWS = 1000;
const YEARS = 10_000; // beyond them an exact whole number is read as an amount
const MIDNIGHT = / 00:00:00(\+00(:00)?)?$/;

export function table(answer) {
  const { columns, rows, intervals } = answer;
  const head = element("tr", {}, columns.map(({ name, type }) => element("th", { scope: "col", class: isNumber(type) ? "number" : "" }, name)));
  const days = columns.map(({ type }, index) => isMoment(type) && rows.every((row) => row[index] === null || MIDNIGHT.test(row[index])));
  const named = keys(answer);
  const body = rows.slice(0, MOST_ROWS).map((row, place) => {
    const states = statesOf(answer, place);
    return element("tr", { class: states.join(" ") }, row.map((cell, index) => cellOf(
      days[index] && cell !== null ? cell.replace(MIDNIGHT, "") : cell, columns[index].type,
      { interval: intervals[place][index], raw: answer.raw?.[place]?.[index] ?? null, states: intervals[place][index] ? states : [], isKey: named[index] },
    )));
  });
  const more = rows.length > MOST_ROWS ? element("caption", {}, `The first ${MOST_ROWS} rows; the files have all.`) : null;
  return element("table", {}, more, element("thead", {}, head), element("tbody", {}, body));
}

// A number that noise made zero or negative.
export function isNoise(value, raw, type, interval) {
  return Boolean(interval) && ((raw !== null && raw < 0) || (type === "int8" && value < 0));
}

// isKey: is it a name, not an amount?
export function worded(value, raw, type, interval, isKey = false) {
  if (value === null) return "NULL";
  if (isNoise(value, raw, type, interval)) return "0 (noise)";
  return isNumber(type) ? (isKey ? plain(value) : number(value, type)) : String(value);
}

// By column: beside noisy columns, numbers without intervals are keys; in exact answers those that may be years.
function keys({ columns, rows, intervals, covers }) {
  return columns.map(({ type }, index) => isNumber(type) && !intervals.some((row) => row[index]) &&
    rows.every((row) => row[index] === null || (Number.isInteger(row[index]) && (covers !== "exact" || Math.abs(row[index]) < YEARS))));
}

export function exact(value, raw) {
  return raw !== null && raw !== value ? `as released: ${raw}` : String(value);
}

function cellOf(cell, type, { interval, raw, states, isKey }) {
  const numeric = isNumber(type);
  return element(
    "td", { class: [numeric ? "number" : "", interval ? "noisy" : ""].join(" ").trim(), title: numeric && cell !== null ? exact(cell, raw) : null },
    states.map((state) => [sign(state), " "]),
    worded(cell, raw, type, interval, isKey),
    interval ? element("span", { class: "interval" }, range(interval)) : null,
  );
}
