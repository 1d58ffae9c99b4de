// What the words mean, beside where they stand: a button with a question mark opens one.

import { element } from "./dom.js";

export const WORDS = {
  epsilon: ["Epsilon", "How much an answer may depend on any one person. Small: strong protection, more noise. What you spend adds " +
    "up, and your budget is a sum of epsilons. At epsilon 1, whether somebody's rows are there makes no answer more than 2.7 times as likely."],
  delta: ["Delta", "The chance, one in millions, with which the promise of epsilon may not hold. Some questions need it: those that " +
    "discover groups among private rows, and accounts that add up tightly."],
  interval: ["Interval", "The noise keeps the shown value within these ends 95 times in 100. Where it covers the truth, the true " +
    "value lies inside, if what was declared is true. Where it covers the clipped value, people with far more than others " +
    "are counted in part, so the true value may lie outside."],
  tau: ["Tau", "The most that one person adds to an answer. What somebody has beyond it is cut before noise is added, so that " +
    "the noise can hide anybody. It is chosen privately, for each answer."],
  weak: ["Weak", "The interval is wider than the value: there may be nothing but noise. Ask with a larger epsilon or about fewer groups."],
  cut: ["Cut", "Some of the value may be missing: people with many rows are counted in part. Ask with a larger epsilon, or about fewer groups."],
  people: ["People, private, public", "A row of a table of people is somebody who is protected. A private table's rows belong to them, along its keys: " +
    "answers are noisy, and charged. A public table belongs to nobody: it is answered exactly and free."],
  discover: ["Discovered groups", "Groups that the policy does not name are found among private rows: only those that many people share are shown, " +
    "which takes a delta. Name the groups in the policy, or in WHERE, to have all of them."],
  accuracy: ["Right within", "Say how exact it must be instead of what to spend: the least epsilon that is expected to do is spent, and " +
    "the epsilon beside it is the most. Where nothing tells beforehand, a small first release finds out; both are charged."],
  hour: ["When", "The hour in which it was charged, in your own zone. Minutes are kept from everybody but who asked: how long a " +
    "question takes may tell something about the people in it."],
  mechanism: ["Mechanism", "How the noise was made; the question and the policy decide it. gem and group_lp choose the most that one person adds, " +
    "l1_clip and l2_clip what one adds to all groups together, then release; joint_scale is for averages. All of them protect alike, at the epsilon beside them."],
  request: ["Request", "The beginning of the name that the proxy gave to the question. The same name stands in the analyst's answer and error " +
    "messages, in the proxy's log, and whole in the export of charges."],
  state: ["State", "committed: answered, and charged. failed, crashed or cancelled once rows could have been read: charged, without an answer. " +
    "reserved: under way. released: given back, since nothing had been read."],
  dashboard: ["Dashboard", "Several questions, each ended by a semicolon, asked together: one epsilon is shared out so that all gain alike, what you " +
    "have paid for is free, and all are answered or none. Save keeps it by name, Refresh asks it again, free until the data are new."],
  kept: ["Free again", "An answer that you have paid for is kept: the same question opens it again, free, until the data are new."],
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
