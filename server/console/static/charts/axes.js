// Axis labels: numbers as 2.5 k and 1.2 M, months as Jan 2021, as many as fit.

const UNITS = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]];
const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 12, useGrouping: false });
const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 12 });
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];
const FEW = 24;
const GAP = 14;
const MARGIN = 0.02; // beyond the outermost values, of what lies between them

const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif"; // as in console.css

export function widthOf(texts) {
  return Math.ceil(d3.max(texts, (text) => pen.measureText(text).width) ?? 0);
}

// Shorten a text that is too wide, with dots at its end.
export function cut(text, room) {
  if (widthOf([text]) <= room) return text;
  const letters = [...text];
  const kept = d3.bisector((end) => widthOf([`${letters.slice(0, end).join("")}…`])).right(d3.range(letters.length), room) - 1;
  return `${letters.slice(0, Math.max(1, kept)).join("").trimEnd()}…`;
}

// The keys of a row, as one name.
export function words(keys, row) {
  return keys.map(({ index }) => row[index] ?? "NULL").join(", ");
}

// How neighbouring numbers are written: short, unless they then need more than two decimals to differ.
export function written(numbers) {
  const large = numbers.filter((value) => Math.abs(value) >= 1000);
  const exact = large.every((value) => Math.abs(scaled(value)[0] * 100 - Math.round(scaled(value)[0] * 100)) < 1e-6);
  return (value) => {
    if (value && Math.abs(value) < 1e-4) return value.toExponential();
    const [part, unit] = exact ? scaled(value) : [value, ""];
    return FULL.format(part) + (unit && `\u00a0${unit}`);
  };
}

function scaled(value) {
  const [size, unit] = UNITS.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return [value / size, unit];
}

// Numeric keys are names, not amounts: 1998 stays a year.
export function writtenKeys(numbers) {
  const short = numbers.some((value) => Math.abs(value) >= 10_000) && numbers.every((value) => value === 0 || isShort(value));
  return short ? written(numbers) : (value) => PLAIN.format(value);
}

// Is it exact with two decimals of a unit? 20 k is, 10115 is not.
function isShort(value) {
  const [part] = scaled(value);
  return Math.abs(100 * part - Math.round(100 * part)) < 1e-6;
}

// A time without a zone, or at UTC; null for other texts.
export function moment(text) {
  const found = new Date(`${String(text).replace(" ", "T").replace(/\+00(:00)?$/, "")}${/\d:\d/.test(text) ? "Z" : ""}`);
  return Number.isNaN(found.getTime()) ? null : found;
}

// How neighbouring times are written: no finer than they are.
export function writtenMoments(moments) {
  const all = (floor) => moments.every((when) => floor(when).getTime() === when.getTime());
  if (all(d3.utcYear)) return d3.utcFormat("%Y");
  if (all(d3.utcMonth)) return d3.utcFormat("%b %Y");
  return d3.utcFormat(all(d3.utcDay) ? "%-d %b %Y" : "%-d %b, %H:%M");
}

// A scale of numbers, wide enough for all of them, with labels that leave room for each other.
export function numberScale(values, label, room, { zero = false, upright = false } = {}) {
  const [low, high] = d3.extent(zero ? [0, ...values] : values);
  const margin = (high - low) * MARGIN || Math.abs(high) * MARGIN || 1;
  const domain = [zero && low === 0 ? 0 : low - margin, zero && high === 0 ? 0 : high + margin];
  return { domain, ...scaleOf(d3.scaleLinear(domain, [0, room]), written, label, room, upright) };
}

export function timeScale(moments, label, room, { upright = false } = {}) {
  const [low, high] = d3.extent(moments, Number);
  const margin = (high - low) * MARGIN || 86_400_000;
  const domain = [new Date(low - margin), new Date(high + margin)];
  return { type: "utc", domain, ...scaleOf(d3.scaleUtc(domain, [0, room]), writtenMoments, label, room, upright) };
}

function scaleOf(scale, namesOf, label, room, upright) {
  const found = upright ? named(scale.ticks(Math.max(3, Math.round(room / 50))), namesOf) : fitting(scale, namesOf);
  return { label, grid: true, tickSize: 0, ...found };
}

function named(ticks, namesOf) {
  return { ticks, tickFormat: namesOf(ticks) };
}

function fitting(scale, namesOf) {
  const nearest = ({ ticks }) => d3.min(d3.pairs(ticks), ([one, next]) => scale(next) - scale(one)) ?? Infinity;
  const fits = (found) => nearest(found) >= labelWidth(found) + GAP;
  const found = d3.range(8, 1, -1).map((count) => named(scale.ticks(count), namesOf));
  const every = (step) => named(found.at(-1).ticks.filter((_, index) => index % step === 0), namesOf);
  return [...found, every(2), every(4)].find(fits) ?? every(8);
}

export function labelWidth({ ticks, tickFormat }) {
  return widthOf(ticks.map(tickFormat));
}

// A scale of ordered keys: numbers at even distances, so that gaps show; dates and irregular keys side by side; NULL
// last. Each row with its `key` gets its `place`, the scale's value.
export function keyScale(rows, isTime, label, room) {
  const valueOf = ({ key }) => (key === null ? null : isTime ? moment(key)?.getTime() ?? null : Number(key));
  const present = d3.sort(new Set(rows.map(valueOf).filter((value) => value !== null)));
  const { values, step } = isTime ? { values: present, step: null } : even(present);
  const hasNull = rows.some((row) => valueOf(row) === null);
  const names = [...namesOf(values, isTime), ...(hasNull ? ["", "NULL"] : [])];
  const places = new Map(present.map((value, index) => [value, step ? Math.round((value - present[0]) / step) : index]));
  for (const row of rows) row.place = places.get(valueOf(row)) ?? names.length - 1;
  const every = (isTime ? MONTHS : STEPS).find((count) => (count * room) / names.length >= widthOf(names) + GAP / 2) ?? names.length;
  const shown = d3.range(values.length).filter((place) => (step ? Math.round(values[place] / step) : place) % every === 0);
  return {
    label, type: "band", domain: d3.range(names.length), ticks: hasNull ? [...shown, names.length - 1] : shown,
    tickFormat: (place) => names[place], tickSize: 0,
  };
}

export function upTo({ domain, ticks }, most) {
  return { domain: domain.slice(0, most), ticks: ticks.filter((place) => place < most) };
}

function namesOf(values, isTime) {
  if (!isTime) return values.map(writtenKeys(values));
  const moments = values.map((value) => new Date(value));
  return moments.map(writtenMoments(moments));
}

// All multiples of one step, if the numbers are such and not too many are missing.
function even(numbers) {
  const step = d3.min(d3.pairs(numbers), ([one, next]) => next - one) ?? null;
  const placeOf = (value) => (value - numbers[0]) / step;
  const count = step ? Math.round(placeOf(numbers.at(-1))) + 1 : Infinity;
  const regular = numbers.every((value) => Math.abs(placeOf(value) - Math.round(placeOf(value))) < 1e-6);
  if (!regular || count > Math.max(FEW, 4 * numbers.length)) return { values: numbers, step: null };
  return { values: d3.range(count).map((place) => Number((numbers[0] + place * step).toPrecision(12))), step };
}
