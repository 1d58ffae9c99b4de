// What the words mean, beside where they stand: a button with a question mark opens one.

import { element } from "./dom.js";

export const WORDS = {
  epsilon: ["Epsilon", "How much an answer may depend on any one person. A small epsilon gives strong protection and more noise. What you " +
    "spend adds up, and your budget is a sum of epsilons. At epsilon 1, one person's rows make no answer more than 2.7 times as likely."],
  delta: ["Delta", "The probability, one in millions, that the guarantee of epsilon does not hold. Some questions need it: those that " +
    "select groups among private rows, and accounts with zCDP or Renyi accounting."],
  interval: ["Interval", "The noise keeps the shown value within these ends 95 times in 100. If the interval covers the truth, the true " +
    "value lies inside, provided that the declared bounds hold. If it covers the clipped value, people with far more than others " +
    "are counted in part, so the true value may lie outside."],
  tau: ["Tau", "The clipping threshold: the most that one person contributes to an answer. Anything beyond it is clipped before noise is " +
    "added, so that the noise can hide anybody. It is chosen privately, for each answer."],
  low_precision: ["Low precision", "The interval is wider than the value, so the value may be nothing but noise. Use a larger epsilon or fewer groups."],
  clipped: ["Clipped", "Some of the value may be missing: people with many rows are counted in part. Use a larger epsilon or fewer groups."],
  people: ["People, private, public", "Each row of a table of people is a protected person. Rows of a private table belong to people, along its keys: " +
    "answers are noisy, and charged. A public table belongs to nobody: answers are exact and free."],
  discover: ["Selected groups", "The policy does not name these groups. Only those that many people share are shown, which takes a delta. " +
    "Name the groups in the policy, or in WHERE, to get all of them."],
  accuracy: ["Right within", "State an accuracy instead of an epsilon. The least epsilon that should reach it is spent, and never more than " +
    "the epsilon beside it. If nothing tells beforehand how much is needed, a small first release finds out. Both are charged."],
  hour: ["When", "The hour of the charge, in your own zone. Only the analyst who asked sees the minutes: how long a question takes may reveal " +
    "something about the people in it."],
  mechanism: ["Mechanism", "How the noise was made. The question and the policy decide it. gem and group_lp choose the most that one person contributes, " +
    "l1_clip and l2_clip the same for all groups together; joint_scale is for averages. All of them protect alike, at the epsilon beside them."],
  request: ["Request", "The beginning of the name that the proxy gave to the question. The analyst's answer and error messages, the proxy's log " +
    "and the export of charges have the same name."],
  state: ["State", "committed: answered, and charged. failed, crashed or cancelled after rows could have been read: charged, without an answer. " +
    "reserved: under way. released: given back, because nothing was read."],
  dashboard: ["Dashboard", "Several questions, each ended by a semicolon, asked together. They share one epsilon, questions that you have paid for " +
    "are free, and all are answered or none. Save stores it by name. Refresh asks it again, free until there is new data."],
  kept: ["Free again", "Answers that you have paid for are cached: the same question opens its answer again, free, until there is new data."],
};

const bubble = element("div", { id: "help", popover: "auto", role: "note", class: "card" });
document.body.append(bubble);

export function help(term) {
  return element("button", { type: "button", class: "help", "aria-label": `What is ${WORDS[term][0].toLowerCase()}?`, onclick: (event) => open(term, event.currentTarget) }, "?");
}

function open(term, at) {
  const [name, words] = WORDS[term];
  bubble.replaceChildren(element("strong", {}, name), element("p", {}, words));
  bubble.showPopover();
  beside(bubble, at);
}

// Under what it speaks of, within the window.
export function beside(shown, at) {
  const place = at.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = shown;
  const left = Math.min(Math.max(8, place.left), document.documentElement.clientWidth - width - 8);
  const under = place.bottom + 8 + height <= innerHeight || place.top - 8 - height < 0;
  const top = under ? Math.min(place.bottom + 8, innerHeight - height - 8) : place.top - 8 - height;
  shown.style.left = `${Math.max(8, left)}px`;
  shown.style.top = `${Math.max(8, top)}px`;
}

// Every place of a page that names a term gets its button.
export function explainWords(root = document) {
  for (const place of root.querySelectorAll("[data-help]")) place.append(help(place.dataset.help));
}
