// Past questions: charges from the ledger, texts from this browser (encrypted) or from the ledger if it stores them.

import { byId, element } from "../common/dom.js";
import { amount, when } from "../common/format.js";
import { normal, statements } from "../question/tokens.js";

const KEPT = 200;

// A question of another browser, if the ledger stores question texts.
const kept = ({ sql, parameters, epsilon, delta }) => (sql && !parameters.length ? { sql, epsilon, ...(delta ? {} : { delta: 0 }) } : null);

// The charges of one request, the newest is its answer's. A dashboard has several, an accuracy target up to two.
export function together(charges) {
  const requests = new Map();
  for (const charge of charges) {
    const first = requests.get(charge.request_id);
    if (first) {
      first.whole += charge.epsilon;
      first.numbers.unshift(charge.number);
    } else requests.set(charge.request_id, { ...charge, whole: charge.epsilon, numbers: [charge.number] });
  }
  return [...requests.values()];
}

const dayOf = (moment) => new Date(moment).toLocaleDateString("en", { dateStyle: "medium" });

// A day, with what the listed charges spent on it.
function heading(day, those) {
  const spent = those.filter(({ state }) => state !== "released").reduce((sum, { whole }) => sum + whole, 0);
  return element("li", { class: "day" }, `${day}: epsilon ${amount(spent)}`);
}

export class History {
  constructor(open) {
    Object.assign(this, { open, vault: null, known: {}, charges: [] });
  }

  async use(vault) {
    this.vault = vault;
    this.known = await vault.get("history", {});
  }

  remember(requestId, question) {
    this.known = Object.fromEntries([...Object.entries(this.known), [requestId, question]].slice(-KEPT));
    return this.vault?.set("history", this.known);
  }

  // The charges that an answer stands under: of its own request, of those that it follows from, or of the one that has
  // paid for it before, as far as this browser remembers.
  numbersOf({ request_id: request, derived_from: derived = [], covers, charge }, { sql, epsilon }) {
    const of = (wanted) => this.charges.filter(({ request_id: one, state }) => wanted.includes(one) && state !== "released").map(({ number }) => number).reverse();
    if (charge.epsilon || covers === "exact") return of([request]);
    if (derived.length) return derived;
    const same = Object.entries(this.known).filter(([, one]) => normal(one.sql) === normal(sql) && one.epsilon === epsilon).map(([id]) => id);
    return of(same).slice(-1);
  }

  set({ charges }) {
    this.charges = charges;
    const requests = together(charges);
    const days = d3.groups(requests, ({ at }) => dayOf(at));
    const items = days.flatMap(([day, those]) => [heading(day, those),
      ...those.map((charge) => this.item(charge, this.known[charge.request_id] ?? kept(charge)))]);
    byId("history").replaceChildren(...(items.length ? items : [element("li", { class: "hint" }, "Nothing asked yet.")]));
  }

  item(charge, question) {
    const many = statements(question?.sql ?? "").length;
    const words = `${many > 1 ? `Dashboard of ${many}. ` : ""}${charge.numbers.length > 1 ? "Charges" : "Charge"} ${charge.numbers.join(", ")}: ${when(charge.at)}, epsilon ${amount(charge.whole)}${charge.state === "committed" ? "" : `, ${charge.state}`}`;
    if (!question) return element("li", {}, element("span", { class: "hint" }, `Asked elsewhere. ${words}`));
    // By an accuracy it might be measured again; what was paid for is the answer at this epsilon.
    const { max_relative_error: within, ...rest } = question;
    const asked = within ? { ...rest, epsilon: charge.epsilon } : question;
    const button = element("button", { type: "button", onclick: () => this.open(asked, charge.state === "committed") },
      element("code", {}, question.sql), element("p", { class: "hint" }, words));
    return element("li", {}, button);
  }
}
