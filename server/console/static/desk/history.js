// Past questions: the ledger knows the charges; this browser, sealed, or the ledger where it keeps them, knows the words.

import { byId, element } from "../common/dom.js";
import { amount, when } from "../common/format.js";

const KEPT = 200;

// What was asked in another browser, where the ledger keeps the words of questions.
const kept = ({ sql, parameters, epsilon, delta }) => (sql && !parameters.length ? { sql, epsilon, ...(delta ? {} : { delta: 0 }) } : null);

export class History {
  constructor(open) {
    Object.assign(this, { open, vault: null, known: {} });
  }

  async use(vault) {
    this.vault = vault;
    this.known = await vault.get("history", {});
  }

  remember(requestId, question) {
    this.known = Object.fromEntries([...Object.entries(this.known), [requestId, question]].slice(-KEPT));
    return this.vault?.set("history", this.known);
  }

  set({ charges }) {
    const items = charges.map((charge) => this.item(charge, this.known[charge.request_id] ?? kept(charge)));
    byId("history").replaceChildren(...(items.length ? items : [element("li", { class: "hint" }, "Nothing asked yet.")]));
  }

  item(charge, question) {
    const words = `${when(charge.at)}, epsilon ${amount(charge.epsilon)}${charge.state === "committed" ? "" : `, ${charge.state}`}`;
    if (!question) return element("li", {}, element("span", { class: "hint" }, `Asked elsewhere. ${words}`));
    // By an accuracy it might be measured anew; what was paid for is the answer at this epsilon.
    const { max_relative_error: within, ...rest } = question;
    const asked = within ? { ...rest, epsilon: charge.epsilon } : question;
    const button = element("button", { type: "button", onclick: () => this.open(asked, charge.state === "committed") },
      element("code", {}, question.sql), element("p", { class: "hint" }, words));
    return element("li", {}, button);
  }
}
