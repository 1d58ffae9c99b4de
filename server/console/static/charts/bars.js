// Horizontal bars with error bars, one per row: the largest first, or in the question's order.

import { cut, labelWidth, numberScale, widthOf } from "./axes.js";
import { BAR, WHISKER, arrows } from "./states.js";

const MOST_BARS = 60;
const WIDEST = 240; // label

export function bars(points, name, width, { ordered = false } = {}) {
  const sorted = ordered ? points : d3.sort(points, ({ value }) => -value);
  const shown = sorted.slice(0, MOST_BARS).map((point, place) => ({ ...point, place }));
  const room = Math.min(WIDEST, 0.4 * width);
  const marginLeft = Math.min(room, widthOf(shown.map(({ label }) => label))) + 12;
  const x = numberScale(shown.flatMap(({ value, low, high }) => [value, low, high]), name, width - marginLeft - 30, { zero: true });
  const picture = Plot.plot({
    width, marginLeft, marginRight: Math.max(30, labelWidth(x) / 2), marginTop: 8, marginBottom: 44, height: 52 + 24 * shown.length,
    x, y: { type: "band", label: null, domain: d3.range(shown.length), tickFormat: (place) => cut(shown[place].label, room), tickSize: 0 },
    marks: [
      Plot.barX(shown, { ...BAR, x: "value", y: "place" }),
      Plot.ruleY(shown, { ...WHISKER, x1: "low", x2: "high", y: "place", strokeWidth: 1.5, marker: "tick" }),
      Plot.ruleX([0], { stroke: "var(--soft)" }),
      arrows(shown, { x: "high", y: "place" }, "x"),
    ],
  });
  const which = ordered ? "first" : "largest";
  return { picture, notes: points.length > MOST_BARS ? [`The ${which} ${MOST_BARS} of ${points.length} rows.`] : [] };
}
