// The gauge: what is left, and what the question that stands in the editor would take of it.

import { byId, show } from "./dom.js";
import { amount, small } from "./format.js";

const NOTHING = { epsilon: 0, delta: 0 };

export class BudgetGauge {
  constructor() {
    this.root = byId("budget");
    this.budget = null;
    this.planned = NOTHING;
  }

  set(budget) {
    this.budget = budget;
    show(this.root, true);
    this.draw();
  }

  plan({ epsilon, delta } = NOTHING) {
    this.planned = { epsilon, delta };
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
    const protects = this.root.querySelector(".protects");
    show(protects, Boolean(this.budget.renew) || Boolean(this.budget.renews_at_ms));
    protects.textContent = this.budget.guarantee ? `Protects at ${this.budget.guarantee}.` : "";
    gauge.setAttribute("aria-valuetext", words);
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
  const more = questions === null || questions === undefined ? "" : `, about ${amount(questions)} more like your last ${like}`;
  const taken = planned.epsilon ? `; this question takes ${amount(planned.epsilon)}${planned.delta ? ` and ${small(planned.delta)}` : ""}` : "";
  return `${parts.join(", ")} left${more}${taken}`;
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
