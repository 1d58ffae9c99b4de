// Numbers and names as text.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 15, useGrouping: false });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const TWO = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const LARGE = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });

export function number(value, type = "float8") {
  if (value === null) return "";
  return type === "int8" || Math.abs(value) >= 10_000 ? WHOLE.format(value) : SHORT.format(value);
}

// Numeric keys are names, not amounts: 2023 stays a year.
export function plain(value) {
  return PLAIN.format(value);
}

export function amount(value) {
  return SHORT.format(value);
}

// Approximate numbers with two digits: 12, 0.83, 43,000, 160 million.
export function about(value) {
  return Math.abs(value) >= 1e6 ? LARGE.format(value) : TWO.format(value);
}

export function percent(part) {
  return `${TWO.format(100 * part)}%`;
}

// A delta: 1e-7, not 0.0000001.
export function small(value) {
  return value && value < 0.001 ? Number(value.toPrecision(4)).toExponential() : SHORT.format(value);
}

export function charged({ epsilon, delta = 0 }) {
  return `epsilon ${amount(epsilon)}${delta ? ` and delta ${small(delta)}` : ""}`;
}

export function isNumber(type) {
  return type === "int8" || type === "float4" || type === "float8" || type === "numeric";
}

export function isMoment(type) {
  return type === "date" || type === "timestamp" || type === "timestamptz";
}

export function range({ low, high }) {
  if (low === null && high === null) return "not bounded";
  if (high === null) return `at least ${bound(low)}`;
  if (low === null) return `at most ${bound(high)}`;
  return `${bound(low)} to ${bound(high)}`;
}

function bound(value) {
  return typeof value === "number" ? number(value) : value;
}

export function when(moment, timeStyle = "short") {
  return new Date(moment).toLocaleString("en", { dateStyle: "medium", timeStyle });
}

// With its time zone, for comparison with other records.
export function zoned(moment) {
  return new Date(moment).toLocaleString("en", {
    year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short",
  });
}

export function several(count, one, many = `${one}s`) {
  return `${WHOLE.format(count)} ${count === 1 ? one : many}`;
}

export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
