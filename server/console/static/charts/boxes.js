// Quantiles as a box for each row: quartiles, the median with its interval, and whiskers to the ends.

import { isMoment, isNumber, number, range } from "../common/format.js";
import { cut, keyScale, labelWidth, moment, numberScale, timeScale, upTo, widthOf, words } from "./axes.js";

const NAMES = {
  low: /^(min|minimum|lowest)$/i,
  p10: /^[pq]10$/i,
  q1: /^(p25|q1|lower_quartile)$/i,
  median: /^(median|p50|q2)$/i,
  q3: /^(p75|q3|upper_quartile)$/i,
  p90: /^[pq]90$/i,
  high: /^(max|maximum|highest)$/i,
};
const LYING = { bar: Plot.barX, rule: Plot.ruleY, tick: Plot.tickX, along: "x", across: "y", sides: ["Top", "Bottom"] };
const STANDING = { bar: Plot.barY, rule: Plot.ruleX, tick: Plot.tickY, along: "y", across: "x", sides: ["Left", "Right"] };
const FILLED = 0.7; // of a row's place; the rest is padding
const ROWS = { type: "band", label: null, tickSize: 0, padding: 1 - FILLED };
const THICKEST = 44;
const HEIGHT = 340;
const ROW = 38;
const NARROWEST = 14;
const MOST_ROWS = 40;
const WIDEST = 240; // label

// Which columns are quantiles of one thing, by their names; null where there are none.
export function quantilesOf(columns, alone) {
  const found = {};
  for (const column of columns) {
    const [kind] = Object.entries(NAMES).find(([, name]) => name.test(column.name)) ?? [];
    if (kind && found[kind]) return null; // of two things
    if (kind) found[kind] = column;
  }
  const named = Object.values(found);
  const alike = named.every(({ type }) => isNumber(type)) || named.every(({ type }) => isMoment(type));
  return alike && (named.length >= 3 || (found.median && !alone)) ? found : null;
}

export function boxes({ rows, intervals, low_precision: weak, clipped }, keys, quantiles, width) {
  const time = isMoment(Object.values(quantiles)[0].type);
  const read = (cell) => (cell === null || cell === undefined ? null : time ? moment(cell) : Number(cell));
  const points = rows.map((row, index) => {
    const cells = Object.fromEntries(Object.entries(quantiles).map(([kind, column]) => [kind, read(row[column.index])]));
    const around = intervals[index]?.[quantiles.median?.index];
    const [from, to] = around ? [read(around.low) ?? cells.median, read(around.high) ?? cells.median] : [null, null];
    const label = words(keys, row);
    return { ...cells, from, to, key: row[keys[0]?.index], label, weak: weak[index] ?? false, clipped: clipped[index] ?? false, told: told(row, quantiles, label, around) };
  }).filter((point) => Object.keys(quantiles).some((kind) => point[kind] !== null));
  if (!points.length) return null;
  const ordered = keys.length === 1 && (isNumber(keys[0].type) || isMoment(keys[0].type));
  const drawn = (ordered ? standing : lying)(points, { time, key: keys[0], width });
  const noisy = points.some(({ from }) => from !== null);
  return { ...drawn, notes: [legend(quantiles, noisy), ...drawn.notes] };
}

function told(row, quantiles, label, around) {
  const parts = Object.keys(NAMES).filter((kind) => quantiles[kind]).map((kind) => {
    const { index, name, type } = quantiles[kind];
    const value = isNumber(type) && row[index] !== null ? number(row[index], type) : row[index] ?? "NULL";
    return kind === "median" && around ? `${name} ${value} (${range(around)})` : `${name} ${value}`;
  });
  return [label, ...parts].filter(Boolean).join("\n");
}

function lying(points, { time, width }) {
  const shown = points.slice(0, MOST_ROWS);
  const room = Math.min(WIDEST, 0.35 * width);
  const marginLeft = Math.min(room, widthOf(shown.map(({ label }) => label))) + 14;
  const x = valueScale(shown, time, width - marginLeft - 30, false);
  shown.forEach((point, place) => { point.place = place; });
  const picture = Plot.plot({
    width, height: 40 + ROW * shown.length, marginLeft, marginRight: Math.max(30, labelWidth(x) / 2), marginTop: 8, marginBottom: 32,
    x, y: { ...ROWS, domain: d3.range(shown.length), tickFormat: (place) => cut(shown[place].label, room) },
    marks: marksOf(shown, LYING, FILLED * ROW),
  });
  return { picture, notes: points.length > MOST_ROWS ? [`The first ${MOST_ROWS} of ${points.length} rows.`] : [] };
}

function standing(points, { time, key, width }) {
  const y = valueScale(points, time, HEIGHT - 60, true);
  const marginLeft = labelWidth(y) + 16;
  const room = width - marginLeft - 12;
  const x = keyScale(points, isMoment(key.type), key.name, room);
  const most = Math.floor(room / NARROWEST);
  const shown = points.filter(({ place }) => place < most);
  const picture = Plot.plot({
    width, height: HEIGHT, marginLeft, marginRight: 12, marginTop: 12, marginBottom: 48,
    x: { ...x, ...upTo(x, most), padding: 1 - FILLED }, y,
    marks: marksOf(shown, STANDING, (FILLED * room) / Math.min(most, x.domain.length)),
  });
  return { picture, notes: x.domain.length > most ? [`The first ${most} of ${x.domain.length} in the order of ${key.name}.`] : [] };
}

function valueScale(points, time, room, upright) {
  const values = points.flatMap((point) => [...Object.keys(NAMES), "from", "to"].map((kind) => point[kind]));
  return (time ? timeScale : numberScale)(values.filter((value) => value != null), null, room, { upright });
}

function marksOf(points, { bar, rule, tick, along, across, sides }, size) {
  const thick = Math.min(size, THICKEST);
  const opacity = ({ weak }) => (weak ? 0.35 : 1);
  const inset = (part) => Object.fromEntries(sides.map((side) => [`inset${side}`, (size - thick) / 2 + part * thick]));
  const at = (value) => ({ [along]: value, [across]: "place" });
  const span = (low, high) => ({ [`${along}1`]: low, [`${along}2`]: high, [across]: "place" });
  const having = (...kinds) => points.filter((point) => kinds.every((kind) => point[kind] != null));
  const line = { stroke: "var(--accent)", strokeWidth: 1.5, strokeOpacity: opacity };
  const whole = { title: "told", ...inset(0) };
  const pale = ({ weak }) => (weak ? 0.15 : 0.35);
  return [
    rule(points.flatMap(whiskers), { className: "whisker", ...span("start", "end"), ...line }),
    ...["low", "high"].map((end) => tick(having(end), { ...at(end), ...line, ...inset(0.2) })),
    ...["p10", "p90"].map((end) => tick(having(end), { ...at(end), ...line, ...inset(0.3) })),
    bar(having("q1", "q3"), { className: "box", ...span("q1", "q3"), fill: ({ weak }) => (weak ? "var(--card)" : "var(--mark)"), ...line, ...whole }),
    bar(having("from", "to"), { className: "band", ...span("from", "to"), fill: "var(--accent)", fillOpacity: pale, ...whole }),
    Plot.text(points.filter((point) => point.clipped), { className: "clipped", ...at(({ high, p90, q3, median }) => high ?? p90 ?? q3 ?? median), text: () => "↑",
      fill: "var(--warn)", fontWeight: 700, ...(along === "x" ? { dx: 10 } : { dy: -10 }) }),
    tick(having("median"), { className: "median", ...at("median"), ...line, stroke: "var(--ink)", strokeWidth: 2.5, ...whole }),
  ];
}

// From the box to the ends, or from end to end where there is no box.
function whiskers(point) {
  const { low, p10, q1, median, q3, p90, high, weak, place } = point;
  const [first, last] = [low ?? p10 ?? q1 ?? median, high ?? p90 ?? q3 ?? median];
  const [start, end] = q1 != null && q3 != null ? [q1, q3] : [last, last];
  const parts = [{ start: first, end: start, weak, place }, { start: end, end: last, weak, place }];
  return parts.filter((part) => part.start != null && part.end != null);
}

function legend({ low, p10, q1, median, q3, p90, high }, noisy) {
  const [first, last] = [low ?? p10, high ?? p90];
  const inner = [low && p10, high && p90].filter(Boolean);
  return [
    q1 && q3 ? `Box: ${q1.name} to ${q3.name}.` : "",
    median ? `Stroke: ${median.name}${noisy ? ", with its interval as a light band" : ""}.` : "",
    first && last ? `Whiskers: ${first.name} to ${last.name}.` : "",
    inner.length ? `Small strokes: ${inner.map(({ name }) => name).join(" and ")}.` : "",
  ].filter(Boolean).join(" ");
}
