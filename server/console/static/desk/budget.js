// The gauge: what is left, and what the question that stands in the editor would take of it; behind it, the period, what
// the last questions cost and how many more like them there are.

import { byId, element, show } from "../common/dom.js";
import { amount, several, small, when } from "../common/format.js";

const NOTHING = { epsilon: 0, delta: 0 };
const LAST = 10;

export class BudgetGauge {
  constructor() {
    this.root = byId("budget");
    this.budget = null;
    this.planned = NOTHING;
    this.charges = [];
  }

  set(budget) {
    this.budget = budget;
    show(this.root, true);
    this.draw();
  }

  last(charges) {
    this.charges = charges.filter(({ state }) => state !== "released").slice(0, LAST);
    this.draw();
  }

  // What is paid for takes nothing.
  plan({ epsilon, delta, paid = false } = NOTHING) {
    this.planned = paid ? NOTHING : { epsilon, delta };
    this.draw();
  }

  draw() {
    if (!this.budget) return;
    const { epsilon, epsilon_left: left } = this.budget;
    const planned = Math.min(this.planned.epsilon, left);
    const gauge = this.root.querySelector(".gauge");
    gauge.setAttribute("aria-valuemax", epsilon);
    gauge.setAttribute("aria-valuenow", left);
    gauge.querySelector(".left").style.width = `${(100 * (left - planned)) / epsilon}%`;
    gauge.querySelector(".planned").style.width = `${(100 * planned) / epsilon}%`;
    const words = described(this.budget, this.planned);
    this.root.querySelector(".words").textContent = words;
    gauge.setAttribute("aria-valuetext", words);
    this.root.querySelector("dl").replaceChildren(...details(this.budget, this.charges).flatMap(([name, said]) => [
      element("dt", {}, name), element("dd", {}, said),
    ]));
    const missing = shortage(this.budget, this.planned);
    show(byId("short"), Boolean(missing));
    byId("short").textContent = missing ?? "";
  }
}

function described(budget, planned) {
  const { epsilon, epsilon_left: left, delta, delta_left: deltaLeft, questions_left: questions, questions_like: like } = budget;
  const counted = planned.delta > 0 || delta > 0;
  const parts = [`epsilon ${amount(left)} of ${amount(epsilon)}`, ...(counted ? [`delta ${small(deltaLeft)} of ${small(delta)}`] : [])];
  const lacking = [
    ...(planned.epsilon > left ? [`epsilon ${amount(planned.epsilon)}`] : []),
    ...(planned.delta > deltaLeft ? [`delta ${small(planned.delta)}`] : []),
  ];
  if (lacking.length) return `${parts.join(", ")} left: too little for ${lacking.join(" and ")}`;
  const more = questions === null || questions === undefined ? "" : `, about ${amount(questions)} more like your last ${like === 1 ? "one" : like}`;
  const taken = planned.epsilon ? `; this question takes ${amount(planned.epsilon)}${planned.delta ? ` and ${small(planned.delta)}` : ""}` : "";
  return `${parts.join(", ")} left${more}${taken}`;
}

const WHOSE = { analyst: "yours", group: "your group's", dataset: "that of all the data" };

function details(budget, charges) {
  const { guarantee, period, renews_at_ms: renews, questions_left: questions, questions_like: like, limited_by: short } = budget;
  const paid = charges.filter(({ epsilon }) => epsilon > 0);
  const found = [["Protects at", `${guarantee ?? "what the custodian granted"}.`]];
  found.push(["Period", period ? `${period}; it begins anew on ${when(renews)}.` : renews ? `It begins anew on ${when(renews)}.` : "It does not begin anew: what is spent stays spent."]);
  if (paid.length) {
    const sum = paid.reduce((total, { epsilon }) => total + epsilon, 0);
    const costs = paid.map(({ epsilon }) => amount(epsilon));
    const each = new Set(costs).size === 1 ? `${costs[0]} each` : costs.join(", ");
    found.push([paid.length === 1 ? "The last question" : `The last ${several(paid.length, "question")}`, `epsilon ${amount(sum)} together: ${each}.`]);
  }
  if (questions !== null && questions !== undefined) {
    const kind = short?.split(":")[0];
    found.push([like === 1 ? "More like it" : `More like the last ${like}`, `about ${amount(questions)}${WHOSE[kind] ? `; the budget that ends first is ${WHOSE[kind]}` : ""}.`]);
  }
  return found;
}

// Run stays open: an answer that is paid for opens again free, whatever is left.
function shortage({ epsilon_left: left, delta_left: deltaLeft }, planned) {
  const paid = "Run opens it only if you have paid for this very answer before.";
  if (planned.delta > deltaLeft) {
    return `This question takes a delta of ${small(planned.delta)}, and you have ${small(deltaLeft)} left. ` +
      `A custodian can grant more, on the administration page or by noisegate admin top-up. ${paid}`;
  }
  if (planned.epsilon > left) return `You have epsilon ${amount(left)} left: ask with less, or ask a custodian for more. ${paid}`;
  return null;
}

