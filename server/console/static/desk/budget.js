// The gauge: what is left, and what the question in the editor would spend; on a click the period, the cost of the last
// questions and how many more fit.

import { byId, dismissed, element, show } from "../common/dom.js";
import { amount, several, small, when } from "../common/format.js";

const NOTHING = { epsilon: 0, delta: 0 };
const LAST = 10;

export class BudgetGauge {
  constructor() {
    this.root = byId("budget");
    this.budget = null;
    this.planned = NOTHING;
    this.charges = [];
    this.upTo = false;
    dismissed(this.root, (back) => this.close(back), { also: [byId("help")], isOpen: () => this.root.open });
  }

  close(back) {
    this.root.open = false;
    if (back) this.root.querySelector("summary").focus();
  }

  set(budget) {
    this.budget = budget;
    show(this.root, true);
    this.draw();
  }

  // Has each account that is known to pay been granted a delta?
  get grantsDelta() {
    return Boolean(this.budget?.delta) && (!this.budget.group || this.budget.group.delta > 0);
  }

  last(charges) {
    this.charges = charges.filter(({ state }) => state !== "released").slice(0, LAST);
    this.draw();
  }

  // What is paid for takes nothing; upTo: it may take less.
  plan({ epsilon, delta, paid = false } = NOTHING, upTo = false) {
    this.planned = paid ? NOTHING : { epsilon, delta };
    this.upTo = upTo && !paid;
    this.draw();
  }

  draw() {
    if (!this.budget) return;
    const { epsilon } = this.budget;
    const { left } = paying(this.budget);
    const planned = Math.min(this.planned.epsilon, left);
    const gauge = this.root.querySelector(".gauge");
    gauge.setAttribute("aria-valuemax", epsilon);
    gauge.setAttribute("aria-valuenow", left);
    gauge.querySelector(".left").style.width = `${(100 * (left - planned)) / epsilon}%`;
    gauge.querySelector(".planned").style.width = `${(100 * planned) / epsilon}%`;
    const words = described(this.budget, this.planned, this.upTo);
    this.root.querySelector(".words").textContent = words;
    gauge.setAttribute("aria-valuetext", words);
    this.root.querySelector("dl").replaceChildren(...details(this.budget, this.charges).flatMap(([name, said]) => [
      element("dt", {}, name), element("dd", {}, said),
    ]));
  }
}

// The remaining questions as a sentence.
export function more(questions, like) {
  const last = like === 1 ? "your last one" : `your last ${like}`;
  if (questions === 0) return `not enough for another question like ${last}`;
  return questions === 1 ? `enough for one more question like ${last}` : `enough for about ${amount(questions)} more like ${last}`;
}

// What both who pay have left: the analyst and the group. The dataset's is not told, but where it is short.
function paying({ epsilon_left: left, delta_left: deltaLeft, group }) {
  return { left: Math.min(left, group?.epsilon_left ?? left), deltaLeft: Math.min(deltaLeft, group?.delta_left ?? deltaLeft) };
}

function described(budget, planned, upTo = false) {
  const { epsilon, epsilon_left: own, delta, delta_left: ownDelta, questions_left: questions, questions_like: like } = budget;
  const { left, deltaLeft } = paying(budget);
  const counted = planned.delta > 0 || delta > 0;
  const parts = [`epsilon ${amount(own)} of ${amount(epsilon)}`, ...(counted ? [`delta ${small(ownDelta)} of ${small(delta)}`] : [])];
  const lacking = [
    ...(planned.epsilon > left ? [`epsilon ${amount(planned.epsilon)}`] : []),
    ...(planned.delta > deltaLeft ? [`delta ${small(planned.delta)}`] : []),
  ];
  const shared = left < own || deltaLeft < ownDelta ? `, of your group’s epsilon ${amount(left)}${counted ? ` and delta ${small(deltaLeft)}` : ""}` : "";
  if (lacking.length) return `${parts.join(", ")} left${shared}: too little for ${lacking.join(" and ")}`;
  const enough = questions === null || questions === undefined ? "" : `, ${more(questions, like)}`;
  const taken = planned.epsilon ? `; this question takes ${upTo ? "up to " : ""}${amount(planned.epsilon)}${planned.delta ? ` and ${small(planned.delta)}` : ""}` : "";
  return `${parts.join(", ")} left${shared}${enough}${taken}`;
}

const WHOSE = { analyst: "yours", group: "your group's", dataset: "that of all the data" };

function details(budget, charges) {
  const { guarantee, period, renews_at_ms: renews, questions_left: questions, questions_like: like, limited_by: short } = budget;
  const paid = charges.filter(({ epsilon }) => epsilon > 0);
  const found = [["Protects at", `${guarantee ?? "what the administrator granted"}.`]];
  found.push(["Period", period ? `${period}; it begins again on ${when(renews)}.` : renews ? `It begins again on ${when(renews)}.` : "It does not begin again: what is spent stays spent."]);
  if (paid.length) {
    const sum = paid.reduce((total, { epsilon }) => total + epsilon, 0);
    const costs = paid.map(({ epsilon }) => amount(epsilon));
    const each = new Set(costs).size === 1 ? `${costs[0]} each` : costs.join(", ");
    found.push([paid.length === 1 ? "The last question" : `The last ${several(paid.length, "question")}`, `epsilon ${amount(sum)} together: ${each}.`]);
  }
  if (budget.group) {
    const { name, epsilon, epsilon_left: left, delta, delta_left: deltaLeft } = budget.group;
    found.push([`Your group, ${name}`, `Pays for every question beside you: epsilon ${amount(left)} of ${amount(epsilon)} left, ` +
      (delta ? `delta ${small(deltaLeft)} of ${small(delta)}.` : "and no delta, so partition selection is not possible.")]);
  }
  if (questions !== null && questions !== undefined) {
    const kind = short?.split(":")[0];
    const words = more(questions, like);
    found.push(["More", `${words[0].toUpperCase()}${words.slice(1)}${WHOSE[kind] ? `; the budget that ends first is ${WHOSE[kind]}` : ""}.`]);
  }
  return found;
}
