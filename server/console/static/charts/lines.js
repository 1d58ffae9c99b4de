// Lines over time, their intervals as bands around them: one, or one for each of a few kinds.

import { labelWidth, moment, numberScale, timeScale, widthOf, cut } from "./axes.js";
import { SERIES, arrows, dots } from "./states.js";

const HEIGHT = 320;
const WIDEST = 120; // label at a line's end
const APART = 15; // labels, from top to top

export function lines(points, name, width) {
  const dated = points.map((point) => ({ ...point, when: moment(point.key) })).filter(({ when }) => when);
  const moments = d3.sort(dated, ({ when }) => when);
  const kinds = d3.groups(moments, ({ panel }) => panel);
  const colourOf = new Map(kinds.map(([kind], place) => [kind, SERIES[place % SERIES.length]]));
  const colour = kinds.length > 1 ? ({ panel }) => colourOf.get(panel) : "var(--accent)";
  const named = kinds.length > 1 ? Math.min(WIDEST, widthOf(kinds.map(([kind]) => kind))) + 14 : 0;
  const marginRight = Math.max(36, named);
  const y = numberScale(moments.flatMap(({ value, low, high }) => [value, low, high]), name, HEIGHT - 60, { zero: true, upright: true });
  const marginLeft = labelWidth(y) + 16;
  const band = kinds.length > 1 ? 0.14 : 0.25;
  const picture = Plot.plot({
    width, height: HEIGHT, marginLeft, marginRight, marginTop: 28,
    x: { ...timeScale(moments.map(({ when }) => when), null, width - marginLeft - marginRight), grid: false }, y,
    marks: [
      Plot.areaY(moments, { className: "band", x: "when", y1: "low", y2: "high", z: "panel", fill: colour, fillOpacity: band }),
      Plot.lineY(moments, { className: "line", x: "when", y: "value", z: "panel", stroke: colour, strokeWidth: 2 }),
      dots(moments, { x: "when", y: "value" }, colour),
      arrows(moments, { x: "when", y: "high" }, "y"),
      kinds.length > 1 ? names(kinds, y, colour) : null,
    ],
  });
  const undated = points.length - moments.length;
  return { picture, notes: undated ? [`Rows without a date, which only the table has: ${undated}.`] : [] };
}

// A kind's name at the end of its line, moved to avoid overlaps.
function names(kinds, y, colour) {
  const scale = d3.scaleLinear(y.domain, [HEIGHT - 30, 28]);
  const ends = d3.sort(kinds.map(([, points]) => points.at(-1)), ({ value }) => scale(value));
  let lowest = -Infinity;
  const placed = ends.map((end) => {
    lowest = Math.max(scale(end.value), lowest + APART);
    return { ...end, height: lowest };
  });
  const over = Math.max(0, lowest - (HEIGHT - 34));
  const right = d3.max(kinds.flatMap(([, points]) => points), ({ when }) => when);
  return Plot.text(placed.map((one) => ({ ...one, when: right, value: scale.invert(one.height - over) })), {
    className: "kind", x: "when", y: "value", text: ({ panel }) => cut(panel, WIDEST), fill: colour, textAnchor: "start", dx: 9, fontWeight: 600,
  });
}
