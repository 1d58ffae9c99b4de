// Past questions: the ledger knows the charges; this browser, or the ledger where it keeps them, knows the words.

import { byId, element } from "./dom.js";
import { amount } from "./format.js";

const STORE = "noisegate.questions";
const KEPT = 200;

// What was asked in another browser, where the ledger keeps the words of questions.
const kept = ({ sql, parameters, epsilon, delta }) => (sql && !parameters.length ? { sql, epsilon, ...(delta ? {} : { delta: 0 }) } : null);

export class History {
  constructor(open) {
    this.open = open;
  }

  remember(requestId, question) {
    const known = this.known();
    known[requestId] = question;
    const newest = Object.entries(known).slice(-KEPT);
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(newest)));
  }

  known() {
    try {
      return JSON.parse(localStorage.getItem(STORE)) ?? {};
    } catch {
      return {};
    }
  }

  set({ charges }) {
    const known = this.known();
    const items = charges.map((charge) => this.item(charge, known[charge.request_id] ?? kept(charge)));
    byId("history").replaceChildren(...(items.length ? items : [element("li", { class: "hint" }, "Nothing asked yet.")]));
  }

  item(charge, question) {
    const when = new Date(charge.at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
    const words = `${when}, epsilon ${amount(charge.epsilon)}${charge.state === "committed" ? "" : `, ${charge.state}`}`;
    if (!question) return element("li", {}, element("span", { class: "hint" }, `Asked elsewhere. ${words}`));
    // By an accuracy it might be measured anew; what was paid for is the answer at this epsilon.
    const { max_relative_error: within, ...rest } = question;
    const asked = within ? { ...rest, epsilon: charge.epsilon } : question;
    const button = element("button", { type: "button", onclick: () => this.open(asked, charge.state === "committed") },
      element("code", {}, question.sql), element("p", { class: "hint" }, words));
    return element("li", {}, button);
  }
}
