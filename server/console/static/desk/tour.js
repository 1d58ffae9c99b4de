// A short tour of the page and its main terms.

import { byId, dismissed, element, quiet } from "../common/dom.js";
import { when } from "../common/format.js";
import { beside } from "../common/glossary.js";

const STEPS = [
  [".editor", "Ask", "Write ordinary SQL, or take one of the examples below. Names complete themselves; what the proxy cannot answer it says, and how to write it instead. Several questions, each ended by a semicolon, are a dashboard."],
  [".controls .epsilon", "Spend", "Epsilon is what a question spends: more of it, less noise. The policy's own amount stands there. Or say how exact the answer must be, and the least that does is spent."],
  ["#explanation, .editor-card", "Look before you run", "Here stands, free, how exact the answer would be, what it costs, and whom it protects. A question that could say nothing says so."],
  ["#answers, .ask", "Read", "Each answer keeps its question. Bars and numbers carry their intervals. A hollow mark ○ may be nothing but noise; an arrow ↑ may be more than it shows."],
  ["#budget", "Mind your budget", null],
];

// Some budgets renew, others do not.
export function ofBudget({ renew, renews_at_ms: renews } = {}) {
  const spent = renews ? `Your budget begins again${renew ? ` each ${renew}` : ""}, next on ${when(renews)}; until then what you have spent stays spent.`
    : "What you have spent stays spent: your budget does not begin again, unless an administrator adds to it.";
  return `${spent} What you have paid for opens again, free, from the history or a link. Click on it for more.`;
}

export class Tour {
  constructor() {
    this.card = element("div", { id: "tour", popover: "manual", role: "dialog", "aria-label": "Tour", class: "card" });
    document.body.append(this.card);
  }

  // budget: of who is signed in.
  begin(budget) {
    if (this.listening) return;
    this.budget = budget;
    this.back = document.activeElement;
    this.listening = dismissed(this.card, () => this.end());
    this.step(0);
  }

  step(place) {
    const [where, title, said] = STEPS[place];
    const words = said ?? ofBudget(this.budget ?? undefined);
    this.mark?.classList.remove("toured");
    this.mark = where.split(", ").map((one) => document.querySelector(one)).find((one) => one && !one.hidden && one.clientHeight);
    this.mark.classList.add("toured");
    this.mark.scrollIntoView({ block: "center" });
    const last = place === STEPS.length - 1;
    const next = element("button", { type: "button", class: "primary", onclick: () => (last ? this.end() : this.step(place + 1)) }, last ? "Begin" : "Next");
    this.card.replaceChildren(element("strong", {}, `${place + 1} of ${STEPS.length}: ${title}`), element("p", {}, words),
      element("p", { class: "buttons" }, last ? null : quiet("Enough", () => this.end()), next));
    this.card.showPopover();
    beside(this.card, this.mark);
    next.focus();
  }

  end() {
    this.listening?.();
    this.listening = null;
    this.mark?.classList.remove("toured");
    this.card.hidePopover();
    (this.back?.isConnected ? this.back : byId("sql")).focus();
  }
}
