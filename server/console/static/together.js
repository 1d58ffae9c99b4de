// Several questions at once: before they are asked, how well each would be known; afterwards an answer behind each.

import { byId, element, show } from "./dom.js";
import { amount, number } from "./format.js";

export class Together {
  constructor(open) {
    this.open = open;
  }

  hide() {
    show(byId("together"), false);
  }

  explain({ summary, charge }, asked) {
    const cost = charge.epsilon ? `Epsilon ${amount(charge.epsilon)} for all of them.` : "Free.";
    this.fill(`${cost} ${summary.strategy}`, summary, asked, null);
  }

  set({ summary, charge, answers }, asked) {
    show(byId("result"), false);
    const cost = charge.epsilon ? `Charged epsilon ${amount(charge.epsilon)}.` : "Free: you have paid for these answers.";
    this.fill(`${cost} ${summary.strategy}`, summary, asked, answers);
    this.open(answers[0]);
  }

  fill(words, { queries }, asked, answers) {
    byId("together-words").textContent = words;
    byId("together-answers").replaceChildren(...asked.map(({ text }, place) => {
      const code = element("code", {}, text);
      const about = element("p", { class: "hint" }, said(queries[place]));
      return element("li", {}, answers
        ? element("button", { type: "button", class: "quiet", onclick: () => this.open(answers[place]) }, code, about)
        : [code, about]);
    }));
    show(byId("together"), true);
  }
}

function said({ how, half_width: half, half_width_alone: alone, why }) {
  if (how === "free") return "free";
  const within = half === null ? "" : `, within ${number(half)}`;
  const gain = how === "together" && alone !== null ? `; alone it would be ${number(alone)}` : "";
  return `${how === "together" ? "estimated with others" : "asked alone"}${within}${gain}${why ? `: ${why}` : ""}`;
}
