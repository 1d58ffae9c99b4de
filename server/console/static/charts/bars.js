// Lying bars with error bars, a row each, in the answer's order.

import { cut, labelWidth, numberScale, widthOf } from "./axes.js";

const MOST_BARS = 60;
const WIDEST = 240; // label

export const BAR = { className: "bar", title: "told", fill: "var(--accent)", fillOpacity: ({ weak }) => (weak ? 0.35 : 0.85) };
export const WHISKER = { className: "whisker", stroke: "var(--ink)" };

export function bars(points, name, width) {
  const shown = points.slice(0, MOST_BARS);
  const room = Math.min(WIDEST, 0.4 * width);
  const marginLeft = Math.min(room, widthOf(shown.map(({ label }) => label))) + 12;
  const x = numberScale(shown.flatMap(({ value, low, high }) => [value, low, high]), name, width - marginLeft - 30, { zero: true });
  const picture = Plot.plot({
    width, marginLeft, marginRight: Math.max(30, labelWidth(x) / 2), marginTop: 8, marginBottom: 44, height: 52 + 24 * shown.length,
    x, y: { label: null, domain: shown.map(({ label }) => label), tickFormat: (label) => cut(label, room), tickSize: 0 },
    marks: [
      Plot.barX(shown, { ...BAR, x: "value", y: "label" }),
      Plot.ruleY(shown, { ...WHISKER, x1: "low", x2: "high", y: "label", strokeWidth: 1.5, marker: "tick" }),
      Plot.ruleX([0], { stroke: "var(--soft)" }),
    ],
  });
  return { picture, notes: points.length > MOST_BARS ? [`The first ${MOST_BARS} of ${points.length} rows.`] : [] };
}
