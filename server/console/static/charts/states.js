// How a row's mark looks in a chart: low precision is hollow, clipped has an arrow upwards.

export const SERIES = ["var(--accent)", "var(--series-2)", "var(--series-3)", "var(--series-4)", "var(--series-5)", "var(--series-6)"];

export const BAR = {
  className: "bar", title: "told",
  fill: ({ weak }) => (weak ? "var(--card)" : "var(--accent)"), fillOpacity: 0.85,
  stroke: "var(--accent)", strokeOpacity: ({ weak }) => (weak ? 1 : 0), strokeWidth: 1.5,
};
export const WHISKER = { className: "whisker", stroke: "var(--ink)", strokeOpacity: ({ weak }) => (weak ? 0.5 : 1) };

// Beyond a row's interval.
export function arrows(points, place, along) {
  const shift = along === "x" ? { dx: 9 } : { dy: -9 };
  return Plot.text(points.filter(({ state }) => state === "clipped"), { className: "clipped", ...place, text: () => "↑", fill: "var(--warn)", fontWeight: 700, fontSize: 14, ...shift });
}

// Dots of a line: hollow, or filled.
export function dots(points, place, colour) {
  return Plot.dot(points, {
    className: "dot", ...place, title: "told", r: ({ weak }) => (weak ? 3.5 : 2.5), stroke: colour, strokeWidth: 1.5,
    fill: (point) => (point.weak ? "var(--card)" : typeof colour === "function" ? colour(point) : colour),
  });
}
