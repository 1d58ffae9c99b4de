// The gauge: what is left, and what the question that stands in the editor would take of it.

import { byId, show } from "./dom.js";
import { amount } from "./format.js";

export class BudgetGauge {
  constructor() {
    this.root = byId("budget");
    this.budget = null;
    this.planned = 0;
  }

  set(budget) {
    this.budget = budget;
    show(this.root, true);
    this.draw();
  }

  plan(epsilon) {
    this.planned = epsilon;
    this.draw();
  }

  draw() {
    if (!this.budget) return;
    const { epsilon, epsilon_left: left } = this.budget;
    const planned = Math.min(this.planned, left);
    const gauge = this.root.querySelector(".gauge");
    gauge.setAttribute("aria-valuemax", epsilon);
    gauge.setAttribute("aria-valuenow", left);
    gauge.querySelector(".left").style.width = `${(100 * (left - planned)) / epsilon}%`;
    gauge.querySelector(".planned").style.width = `${(100 * planned) / epsilon}%`;
    const words = this.planned > left
      ? `${amount(left)} of ${amount(epsilon)} left: too little for epsilon ${amount(this.planned)}`
      : `epsilon ${amount(left)} of ${amount(epsilon)} left` + (planned ? `; this question takes ${amount(planned)}` : "");
    this.root.querySelector(".words").textContent = words;
    gauge.setAttribute("aria-valuetext", words);
  }
}
