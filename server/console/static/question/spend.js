// What a question may spend: epsilon as a number and on a logarithmic slider, or an accuracy target.

import { byId, show } from "../common/dom.js";
import { amount } from "../common/format.js";

const STEPS = 100;
const SMALLEST = 0.01;

export class Spend extends EventTarget {
  constructor() {
    super();
    Object.assign(this, { slider: byId("epsilon-slider"), field: byId("epsilon"), within: byId("accuracy"), usual: 1, least: SMALLEST, most: 1, pure: false });
    this.slider.addEventListener("input", () => { this.field.value = this.at(Number(this.slider.value)); this.changed(); });
    this.field.addEventListener("input", () => { this.place(); this.changed(); });
    this.within.addEventListener("input", () => this.changed());
    byId("without-delta").addEventListener("click", () => { this.pure = false; this.changed(); });
    byId("epsilon-usual").addEventListener("click", () => { this.epsilon = this.usual; this.changed(); });
  }

  // The policy's: what is spent where nothing is said stands in the field to the last digit.
  set({ epsilon, min_epsilon: least = 0, max_epsilon: most }) {
    Object.assign(this, { usual: epsilon, least: Math.min(Math.max(least, SMALLEST), most), most });
    Object.assign(this.field, { min: least || "any", max: most });
    this.epsilon = epsilon;
    this.changed();
  }

  at(place) {
    if (place === STEPS) return this.most;
    return Number((this.least * (this.most / this.least) ** (place / STEPS)).toPrecision(2));
  }

  place() {
    const part = Math.log(Math.max(this.epsilon ?? this.least, this.least) / this.least) / Math.log(this.most / this.least);
    this.slider.value = Math.round(STEPS * Math.min(1, part || 0));
  }

  // Null where none stands there.
  get epsilon() {
    return this.field.valueAsNumber > 0 ? this.field.valueAsNumber : null;
  }

  set epsilon(value) {
    this.field.value = value;
    this.place();
  }

  // An accuracy in percent: what it needs is spent, and epsilon is the most that may be.
  get accuracy() {
    return this.within.valueAsNumber > 0 ? this.within.valueAsNumber / 100 : null;
  }

  set accuracy(part) {
    this.within.value = part ? Number((100 * part).toPrecision(4)) : "";
  }

  changed() {
    byId("epsilon-means").textContent = this.accuracy ? "Epsilon, at most" : "Epsilon";
    byId("epsilon-usual").textContent = `back to ${amount(this.usual)}`;
    show(byId("epsilon-usual"), this.epsilon !== this.usual);
    show(byId("without-delta"), this.pure);
    this.dispatchEvent(new Event("change"));
  }
}
