// The explanation before a run: the expected error, the cost, whom it protects; details are folded.

import { byId, element, quiet, show } from "../common/dom.js";
import { help } from "../common/glossary.js";
import { amount, charged, listed, number, percent } from "../common/format.js";
import { estimate } from "./estimate.js";

const ON_REQUEST = /reuse = only/; // a derived answer is given on request only

export class Explanation {
  // take: show what is free, and measure nothing; test: ask with so little epsilon first.
  constructor(take, test) {
    this.take = take;
    this.test = test;
    this.root = byId("explanation");
    this.wanted = true; // open, unless it was folded by hand
    this.root.querySelector("summary").addEventListener("click", () => { this.wanted = !this.root.open; });
    this.shown = null;
  }

  hide() {
    this.shown = null;
    show(this.root, false);
    show(byId("useless"), false);
  }

  // While another question is being typed, what is said is of the one before.
  wait() {
    this.root.classList.add("waiting");
  }

  fold() {
    this.root.open = false;
  }

  // asked: the words that it explains; within: the accuracy that was asked for, or null.
  set(explanation, asked, within = null) {
    this.shown = { ...explanation, asked };
    const guess = estimate(explanation, within);
    const free = explanation.paid || explanation.derived || !explanation.privacy_units.length;
    const why = explanation.paid ? ": you have paid for it" : explanation.derived ? ": it is derived from answers that you have paid for" : "";
    const cost = free ? `free${why}` : charged(whole(explanation));
    const short = Boolean(explanation.cannot_pay);
    this.root.querySelector(".headline").replaceChildren(
      element("strong", {}, guess.headline), element("span", { class: free ? "cost free" : short ? "cost short" : "cost" },
        free ? cost : `${short ? "cannot be paid: " : ""}costs ${isUpTo(explanation) ? "up to " : ""}${cost}`),
    );
    this.root.querySelector("dl.facts").replaceChildren(...facts(explanation, guess, within, this).flatMap(([name, words, term]) => [
      element("dt", {}, name, term ? help(term) : null), element("dd", {}, words),
    ]));
    this.root.querySelector("dl.how").replaceChildren(...how(explanation).flatMap(([name, words]) => [element("dt", {}, name), element("dd", {}, words)]));
    this.root.querySelector("pre").textContent = explanation.rewritten_sql;
    this.noise(explanation.expected_noise);
    const useless = !explanation.paid && guess.useless;
    show(byId("useless"), Boolean(useless));
    byId("useless").textContent = useless || "";
    byId("run").textContent = useless ? "Run all the same" : "Run";
    this.root.classList.remove("waiting");
    this.root.open = this.wanted;
    show(this.root, true);
  }

  noise(expected) {
    const rows = expected.flatMap(([, pairs]) => pairs.slice(0, 20));
    show(this.root.querySelector(".noise"), rows.length > 0);
    this.root.querySelector("tbody").replaceChildren(...rows.map(([tau, width]) => element(
      "tr", {}, element("td", { class: "number" }, number(tau)), element("td", { class: "number" }, `± ${number(width)}`),
    )));
  }
}

// What is charged in the end, at most: an accuracy that nothing is known of may take two releases; what is paid for, or
// derived from it takes nothing, and what is cached in part takes what the rest does.
export function whole({ epsilon, delta, most_epsilon: most, most_delta: mostDelta, charge_epsilon: charge,
  charge_delta: chargeDelta, paid = false, derived = false }) {
  const now = charge ? { epsilon: charge, delta: chargeDelta ?? 0 } : { epsilon, delta };
  return { epsilon: most ?? now.epsilon, delta: mostDelta ?? now.delta, paid: paid || derived };
}

function isUpTo({ most_epsilon: most }) {
  return most !== null && most !== undefined;
}

function facts(explanation, guess, within, { take, test }) {
  const found = [["Expect", guess.more, "interval"]];
  const unpaid = !explanation.paid && !explanation.derived && !explanation.cannot_pay;
  if (guess.test && unpaid) {
    const words = "Its answer shows how accurate others will be. It is charged, and stays yours.";
    found.push(["A test", element("span", {}, words, " ", quiet(`Ask with epsilon ${amount(guess.test)}`, () => test(guess.test)))]);
  }
  if (explanation.likely_clipped > 0 && !explanation.paid) found.push(["Likely clipped", likelyClipped(explanation, within), "clipped"]);
  if (explanation.privacy_units.length) found.push(["Protects", protection(explanation), "people"]);
  if (explanation.reuse && !explanation.paid) {
    const wider = ON_REQUEST.test(explanation.reuse) ? [" ", quiet("Show that answer, free", take)] : [];
    found.push(["For free", element("span", {}, explanation.reuse, wider), "kept"]);
  }
  return found;
}

// Rows whose intervals do not cover what was clipped: an accuracy target leaves them out.
function likelyClipped({ likely_clipped: part, n_groups: groups }, within) {
  const rows = groups === 1 ? "the answer" : part === 1 ? "every row" : `about ${percent(part)} of the rows`;
  return `${rows}: the true value may be larger than the interval says there${within ? `, so “right within ${percent(within)}” may fail there` : ""}. ` +
    "A larger epsilon or fewer groups help, unless the policy clips.";
}

function how(explanation) {
  const found = explanation.expected_noise.map(([label, pairs], place) => [`Noise of ${label}`, expected(pairs, explanation.weight_bounds[place]?.[1])]);
  if (explanation.n_groups > 1) found.push(["Groups", `${number(explanation.n_groups, "int8")}, each with its own noise`]);
  for (const [key, source] of explanation.group_sources ?? []) found.push([`Groups by ${key}`, source]);
  const { mechanism, reason } = explanation;
  if (explanation.privacy_units.length) found.push(["Mechanism", reason.startsWith(mechanism) ? reason : `${mechanism}: ${reason}`]);
  if (explanation.sampling) found.push(["Sample", explanation.sampling]);
  return found;
}

// The width at the contribution of one whole row, and at a much larger clipping threshold.
function expected(pairs, row = 0) {
  if (!pairs.length) return "depends on the rows";
  const first = Math.max(0, pairs.findIndex(([tau]) => tau >= row));
  const [tau, width] = pairs[first];
  const [wideTau, wide] = pairs[Math.min(pairs.length - 1, first + 5)];
  return `within ± ${number(width)} if each person adds at most ${number(tau)}` +
    (wide > width ? `, ± ${number(wide)} if up to ${number(wideTau)}` : "");
}

function protection({ privacy_units: units }) {
  return `everybody in ${listed(units)}: whether all or some of one's rows are there, the answers look nearly the same`;
}
