// A line over time, its intervals as an area around it.

import { labelWidth, moment, numberScale, timeScale } from "./axes.js";

const HEIGHT = 320;

export function lines(points, name, width) {
  const dated = points.map((point) => ({ ...point, when: moment(point.key) })).filter(({ when }) => when);
  const moments = d3.sort(dated, ({ when }) => when);
  const y = numberScale(moments.flatMap(({ value, low, high }) => [value, low, high]), name, HEIGHT - 60, { zero: true, upright: true });
  const marginLeft = labelWidth(y) + 16;
  const picture = Plot.plot({
    width, height: HEIGHT, marginLeft, marginRight: 36, marginTop: 28,
    x: { ...timeScale(moments.map(({ when }) => when), null, width - marginLeft - 36), grid: false }, y,
    marks: [
      Plot.areaY(moments, { x: "when", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25 }),
      Plot.lineY(moments, { className: "line", x: "when", y: "value", stroke: "var(--accent)", strokeWidth: 2 }),
      Plot.dot(moments, { x: "when", y: "value", fill: "var(--accent)", r: 2.5, title: "told" }),
    ],
  });
  const undated = points.length - moments.length;
  return { picture, notes: undated ? [`Rows without a date, which only the table has: ${undated}.`] : [] };
}
