// How well a question would be answered, said before it is charged: in parts of the answer where anything tells how large
// that is (the analyst's own answers), else of answers of some sizes.

import { about, amount, percent } from "../common/format.js";

const USELESS_ROWS = 1e7; // together; where nothing is known of how many there are
const POOR = 0.5; // of a value: its interval is then wider than the value

// What answers have told of tables: how much all of their rows come to, by what is counted.
export class Told {
  constructor() {
    this.totals = new Map();
  }

  static name(explanation, label) {
    return JSON.stringify([explanation.tables.map(({ table }) => table).sort(), label]);
  }

  // One count or sum, and its only noisy column: whose it is is clear then.
  learn(explanation, answer) {
    if (!explanation?.expected_noise || explanation.expected_noise.length !== 1 || answer.rows.length === 0) return;
    const places = answer.columns.map((_, place) => place).filter((place) => answer.intervals.some((row) => row[place]));
    if (places.length !== 1) return;
    const [place] = places;
    const total = answer.rows.reduce((sum, row, index) => sum + Number(answer.raw?.[index]?.[place] ?? row[place] ?? 0), 0);
    const taus = answer.taus.flatMap((row) => row[place] ?? []).filter((tau) => tau !== null).sort((one, other) => one - other);
    const name = Told.name(explanation, explanation.expected_noise[0][0]);
    if (total > (this.totals.get(name)?.total ?? 0)) this.totals.set(name, { total, tau: taus[Math.floor(taus.length / 2)] ?? null });
  }

  of(explanation, label) {
    return this.totals.get(Told.name(explanation, label)) ?? null;
  }
}

// {headline, more, useless}: two sentences for people, and a warning or null.
export function estimate(explanation, told, within = null) {
  if (!explanation.privacy_units.length) return { headline: "Exact", more: "Public tables only.", useless: null };
  if (explanation.most_epsilon && within) return foundOut(explanation, within);
  const { relative_errors: known = [], n_groups: groups } = explanation;
  if (known.length) return fromErrors(known, explanation);
  const quotient = /Expect (\S+) within ([\d.e+-]+)% of itself/.exec(explanation.reason);
  if (quotient) return { headline: `About ${quotient[2]}% for 10,000 rows`, more: "More rows are known better, in the same measure.", useless: null };
  const noise = explanation.expected_noise.map(([label, pairs], place) => halfOf(explanation, label, pairs, place, told)).filter(Boolean);
  if (!noise.length) {
    const [first] = explanation.mechanisms ?? [];
    return { headline: "Its noise depends on the rows", more: first?.reason ?? "", useless: null };
  }
  const [worst] = noise;
  const total = told.of(explanation, worst.label)?.total;
  if (total && groups) return fromErrors([{ typical: worst.half / (total / groups) }], explanation, worst);
  return ofSizes(worst, explanation);
}

// Nothing known tells what the accuracy needs: a first release does, and both are charged.
function foundOut({ epsilon, most_epsilon: most }, within) {
  return {
    headline: `Right within ${percent(within)}, if epsilon ${amount(most)} can do it`,
    more: `A first release, of epsilon ${amount(epsilon)}, tells what is needed; the rest is spent only if it is enough. ` +
      "Else you are told so, and keep the first. It is not promised of rows that are marked cut (too little data for what is spent).",
    useless: null,
  };
}

// The noise at the bound that answers have shown, or where nobody adds more than a whole row, and at 32 times as much.
function halfOf(explanation, label, pairs, place, told) {
  if (!pairs.length) return null;
  const row = told.of(explanation, label)?.tau ?? explanation.weight_bounds[place]?.[1] ?? pairs[0][0];
  const first = Math.max(0, pairs.findIndex(([tau]) => tau >= row));
  const [tau, half] = pairs[first];
  const [wideTau, wide] = pairs[Math.min(pairs.length - 1, first + 5)];
  return { label, tau, half, wideTau, wide };
}

function fromErrors(known, explanation, noise = null) {
  const bad = (part) => part === null || part > 1;
  const [first] = known.toSorted((one, other) => (other.typical ?? Infinity) - (one.typical ?? Infinity));
  const rows = explanation.n_groups !== 1;
  const typical = first.typical === null ? "nothing certain" : `about ${percent(first.typical)}`;
  const alike = first.worst !== null && first.typical !== null && percent(first.worst) === percent(first.typical);
  const worst = rows && first.worst !== undefined && first.worst !== first.typical && !alike
    ? first.worst === null ? ", nothing certain for the smallest" : `, ${percent(first.worst)} for the smallest` : "";
  const headline = first.typical > 1
    ? `Nothing but noise, ${about(first.typical)} times ${rows ? "a typical row" : "the answer"}`
    : `${typical[0].toUpperCase()}${typical.slice(1)}${rows ? " for a typical row" : ""}${worst}`;
  const more = noise ? `± ${about(noise.half)}, and the rows you were told of come to ${about(noise.half / first.typical)} for each.` : "Judged by your own earlier answer.";
  return { headline, more, useless: bad(first.typical) ? saysNothing(explanation, noise) : null, poor: first.typical > POOR };
}

// Which threshold is chosen depends on the data: what is foretold is the noise where somebody adds much, not the least.
function ofSizes(noise, explanation) {
  const { half, tau, wide, wideTau } = noise;
  const likely = Math.max(half, wide);
  const size = 10 ** Math.ceil(Math.log10(Math.max(4 * likely, 1)));
  const each = explanation.n_groups === 1 ? "" : " in each row";
  const groups = explanation.n_groups ?? 1;
  const useless = noise.label.startsWith("count") && groups * half > USELESS_ROWS ? saysNothing(explanation, noise) : null;
  const headline = useless ? `Nothing but noise below ${about(half)}${each}`
    : `About ${percent(likely / size)} of ${number10(size)}, ${percent(likely / (10 * size))} of ${number10(10 * size)}`;
  const more = wide > half
    ? `± ${about(half)}${each} if nobody adds more than ${about(tau)}, ± ${about(wide)} if somebody adds ${about(wideTau)}: what people add decides.`
    : `± ${about(half)}${each}, whatever its value.`;
  return { headline, more, useless };
}

const number10 = (value) => new Intl.NumberFormat("en").format(value);

function saysNothing({ n_groups: groups }, noise) {
  const advice = groups === 1 ? "Ask about more rows, or spend more." : "Ask for fewer groups, or spend more.";
  if (!noise) return `The noise would be as large as the answer: it could not say anything. ${advice}`;
  const needed = groups > 1 ? `, in each of ${new Intl.NumberFormat("en").format(groups)} rows; all of them would have to come to ${about(groups * noise.half)} to stand out` : "";
  return `The noise would hide the answer: ± ${about(noise.half)}${needed}. ${advice}`;
}
