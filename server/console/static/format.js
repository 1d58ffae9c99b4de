// Numbers and names as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export function number(value, type = "float8") {
  if (value === null) return "";
  return type === "int8" || Math.abs(value) >= 10_000 ? WHOLE.format(value) : SHORT.format(value);
}

export function amount(value) {
  return SHORT.format(value);
}

// A delta: 1e-7, not 0.0000001.
export function small(value) {
  return value && value < 0.001 ? Number(value.toPrecision(4)).toExponential() : SHORT.format(value);
}

export function isNumber(type) {
  return type === "int8" || type === "float8" || type === "numeric";
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
