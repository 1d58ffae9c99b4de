// Vertical bars in the order of a numeric key, with intervals as whiskers.

import { keyScale, labelWidth, numberScale, upTo } from "./axes.js";
import { BAR, WHISKER, arrows } from "./states.js";

const HEIGHT = 300;
const THINNEST = 1.5;

export function histogram(shown, all, { title, key, name, width }) {
  const y = numberScale(all.flatMap(({ value, low, high }) => [value, low, high]), name, HEIGHT - 72, { zero: true, upright: true });
  const marginLeft = labelWidth(y) + 16;
  const room = width - marginLeft - 12;
  const most = Math.floor(room / THINNEST);
  const x = keyScale(all, false, key, room);
  const step = room / x.domain.length;
  const drawn = shown.filter(({ place }) => place < most);
  const picture = Plot.plot({
    width, height: HEIGHT, marginLeft, marginRight: 12, marginTop: 28, marginBottom: 44,
    x: { ...x, ...upTo(x, most), padding: step > 4 ? 0.1 : 0 }, y,
    marks: [
      Plot.barY(drawn, { ...BAR, x: "place", y: "value" }),
      Plot.ruleX(drawn, { ...WHISKER, x: "place", y1: "low", y2: "high", strokeWidth: 1, marker: step > 12 ? "tick" : null }),
      Plot.ruleY([0], { stroke: "var(--soft)" }),
      arrows(drawn, { x: "place", y: "high" }, "y"),
    ],
  });
  return { title, picture, notes: x.domain.length > most ? [`The first ${most} of ${x.domain.length} in the order of ${key}.`] : [] };
}
