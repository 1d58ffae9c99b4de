// The expected error of a question before it is charged: relative to the analyst's own earlier answer if there is one,
// else for answers of some sizes.

import { about, amount, percent } from "../common/format.js";

const USELESS_ROWS = 1e7; // together; where nothing is known of how many there are
const TEST = 0.1; // of the epsilon: what a test spends
const POOR = 0.5; // of a value: its interval is then wider than the value

// {headline, more, useless, test}: two sentences, a warning or null, and the epsilon of a test that would show more. The
// error depends on what a person adds, which only an answer to the same question shows.
export function estimate(explanation, within = null) {
  if (!explanation.privacy_units.length) return { headline: "Exact", more: "Public tables only.", useless: null };
  if (explanation.most_epsilon && within) return foundOut(explanation, within);
  const { relative_errors: known = [] } = explanation;
  if (known.length) return fromErrors(known, explanation);
  const noise = explanation.expected_noise.map(halfOf).filter(Boolean);
  if (!noise.length) {
    const [first] = explanation.mechanisms ?? [];
    return { headline: "Its noise depends on the rows", more: first?.reason ?? "", useless: null };
  }
  return ofSizes(noise[0], explanation);
}

// If the epsilon for the accuracy target is unknown, a first release finds it; both are charged.
function foundOut({ epsilon, most_epsilon: most }, within) {
  return {
    headline: `Right within ${percent(within)}, if epsilon ${amount(most)} can do it`,
    more: `A first release, of epsilon ${amount(epsilon)}, finds out what is needed. The rest is spent only if it is enough. ` +
      "Otherwise you only get the first. Rows that are marked clipped may miss it.",
    useless: null,
  };
}

// The noise where nobody adds more than the least bound, and at 32 times as much.
function halfOf([label, pairs]) {
  if (!pairs.length) return null;
  const [[tau, half]] = pairs, [wideTau, wide] = pairs[Math.min(pairs.length - 1, 5)];
  return { label, tau, half, wideTau, wide, public: pairs.length === 1 };
}

// A range whose upper end nine of ten such answers stay below.
function fromErrors(known, explanation) {
  const bad = (part) => part === null || part > 1;
  const [first] = known.toSorted((one, other) => (other.most ?? Infinity) - (one.most ?? Infinity));
  const { typical, most } = first;
  const rows = explanation.n_groups !== 1;
  const range = typical === null ? "nothing certain" : most === null ? `${percent(typical)} or more`
    : percent(typical) === percent(most) ? `about ${percent(most)}` : `${percent(typical)} to ${percent(most)}`;
  const headline = typical > 1
    ? `Nothing but noise, ${about(typical)} times ${rows ? "a typical row" : "the answer"}`
    : `${range[0].toUpperCase()}${range.slice(1)}${rows ? " for a typical row" : ""}`;
  const smallest = !rows ? "" : first.worst === null ? " The precision of the smallest rows is unknown." : ` The smallest row: ${percent(first.worst)} or more.`;
  const more = `Judged by your own earlier answer to this question: nine of ten such answers stay within the range.${smallest}`;
  return { headline, more, useless: bad(typical) ? saysNothing(explanation) : null, poor: bad(most) || most > POOR };
}

// The chosen clipping threshold depends on the data and is unknown before an answer.
function ofSizes(noise, explanation) {
  const { half, tau, wide, wideTau } = noise;
  const each = explanation.n_groups === 1 ? "" : " in each row";
  const groups = explanation.n_groups ?? 1;
  const useless = noise.label.startsWith("count") && groups * half > USELESS_ROWS ? saysNothing(explanation, noise) : null;
  if (noise.public) return { headline: `± ${about(half)}${each}`, more: `± ${about(half)}${each}, whatever its value.`, useless };
  const headline = useless ? `Nothing but noise below ${about(half)}${each}` : `Not known yet: ± ${about(half)} or more${each}`;
  const more = `± ${about(half)}${each} if each person adds at most ${about(tau)}, ± ${about(wide)} if up to ${about(wideTau)}.`;
  return { headline, more, useless, test: explanation.epsilon > 0 ? TEST * explanation.epsilon : null };
}

function saysNothing({ n_groups: groups }, noise) {
  const advice = groups === 1 ? "Ask about more rows, or spend more." : "Ask for fewer groups, or spend more.";
  if (!noise) return `The noise would be as large as the answer: it could not say anything. ${advice}`;
  const needed = groups > 1 ? `, in each of ${new Intl.NumberFormat("en").format(groups)} rows; all of them would have to come to ${about(groups * noise.half)} to stand out` : "";
  return `The noise would hide the answer: ± ${about(noise.half)}${needed}. ${advice}`;
}
