// A cell for each pair of two keys, darker for more; hollow for low precision.

import { isMoment, isNumber, number } from "../common/format.js";
import { cut, keyScale, widthOf } from "./axes.js";

const ROW = 28;
const WIDEST = 160; // label of a row
const NARROWEST = 16; // cell
const MOST_ROWS = 60;

// The horizontal key: the ordered one, else the one with more values if their names fit.
export function heatmap(points, keys, name, width) {
  const counts = keys.map((_, place) => new Set(points.map(({ cells }) => cells[place])).size);
  const inOrder = keys.map(({ type }) => isMoment(type) || isNumber(type));
  const along = inOrder[0] !== inOrder[1] ? (inOrder[0] ? 0 : 1) : counts[0] > counts[1] ? 1 : 0;
  const [across, down] = [along, 1 - along];
  const rowNames = [...new Set(points.map(({ cells }) => cells[down]))];
  if (inOrder[down]) rowNames.sort((one, other) => (isNumber(keys[down].type) ? one - other : String(one).localeCompare(String(other))));
  const room = Math.min(WIDEST, 0.32 * width);
  const said = (value) => String(value ?? "NULL");
  const marginLeft = Math.min(room, widthOf(rowNames.map(said))) + 12;
  const x = axis(points, keys[across], across, width - marginLeft - 12);
  const most = Math.floor((width - marginLeft - 12) / NARROWEST);
  const shownRows = rowNames.slice(0, MOST_ROWS);
  const rowOf = new Map(shownRows.map((value, place) => [value, place]));
  const shown = points.map((point) => ({ ...point, column: x.placeOf(point), row: rowOf.get(point.cells[down]) }))
    .filter(({ column, row }) => column < most && row !== undefined);
  const columns = Math.min(most, x.domain.length);
  const cell = (width - marginLeft - 12) / columns;
  const largest = d3.max(shown, ({ value }) => Math.max(0, value)) || 1;
  const turn = matchMedia("(prefers-color-scheme: dark)").matches ? 0.55 : 0.8; // from where on a number is read on the colour itself
  const written = cell >= Math.max(...shown.map(({ value }) => widthOf([number(value)]))) + 8;
  const marginBottom = x.turned ? Math.min(110, widthOf(x.names)) + 26 : 44;
  const picture = Plot.plot({
    width, height: 16 + marginBottom + ROW * shownRows.length, marginLeft, marginRight: 12, marginTop: 8, marginBottom,
    x: { type: "band", label: keys[across].name, domain: d3.range(columns), ticks: x.ticks.filter((place) => place < columns), tickSize: 0,
      tickFormat: (place) => cut(x.names[place], 110), tickRotate: x.turned ? -60 : 0, padding: 0 },
    y: { type: "band", label: null, domain: d3.range(shownRows.length), tickSize: 0, tickFormat: (place) => cut(said(shownRows[place]), room), padding: 0 },
    marks: [
      Plot.cell(shown.filter(({ weak }) => !weak), { className: "cell", x: "column", y: "row", title: "told", inset: 1, rx: 2,
        fill: ({ value }) => shade(value / largest) }),
      Plot.cell(shown.filter(({ weak }) => weak), { className: "cell low_precision", x: "column", y: "row", title: "told", inset: 2, rx: 2,
        fill: "none", stroke: "var(--accent)", strokeOpacity: 0.6, strokeDasharray: "2,2" }),
      written ? Plot.text(shown, { className: "value", x: "column", y: "row", text: ({ value, state }) => number(value) + (state === "clipped" ? " ↑" : ""),
        fill: ({ value, weak }) => (weak ? "var(--soft)" : value / largest > turn ? "var(--accent-ink)" : "var(--ink)"), pointerEvents: "none" }) : null,
    ],
  });
  const notes = [];
  if (x.domain.length > columns) notes.push(`The first ${columns} of ${x.domain.length} of ${keys[across].name}.`);
  if (rowNames.length > MOST_ROWS) notes.push(`The first ${MOST_ROWS} of ${rowNames.length} of ${keys[down].name}.`);
  return { title: `${name} by ${keys[down].name} and ${keys[across].name}`, picture, notes };
}

function shade(part) {
  return `color-mix(in srgb, var(--accent) ${Math.round(8 + 92 * Math.max(0, Math.min(1, part)))}%, var(--card))`;
}

function axis(points, key, place, room) {
  if (isMoment(key.type) || isNumber(key.type)) {
    const rows = points.map((point) => ({ key: point.cells[place] }));
    const scale = keyScale(rows, isMoment(key.type), key.name, room);
    const places = new Map(points.map((point, index) => [point, rows[index].place]));
    return { domain: scale.domain, ticks: scale.ticks, names: scale.domain.map(scale.tickFormat), placeOf: (point) => places.get(point), turned: false };
  }
  const values = [...new Set(points.map(({ cells }) => cells[place]))];
  const names = values.map((value) => String(value ?? "NULL"));
  const at = new Map(values.map((value, index) => [value, index]));
  const turned = widthOf(names) + 10 > room / names.length;
  const every = turned ? Math.max(1, Math.ceil((14 * names.length) / room)) : 1;
  return { domain: d3.range(names.length), ticks: d3.range(names.length).filter((one) => one % every === 0), names, placeOf: ({ cells }) => at.get(cells[place]), turned };
}
