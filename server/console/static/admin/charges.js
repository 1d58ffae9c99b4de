// What questions cost: by analyst and week, and one by one.

import { element } from "../common/dom.js";
import { amount, small, when } from "../common/format.js";
import { fill } from "./office.js";

const WEEKS = 8;
const DAY_MS = 86_400_000;

// Sums of all charges, as their pages come: only what was not given back counts.
export class Weeks {
  constructor() {
    this.sums = new Map();
  }

  add({ analyst, epsilon, state, reserved_at_ms: at }) {
    if (state === "released") return;
    const week = monday(at);
    const own = this.sums.get(analyst) ?? new Map();
    own.set(week, (own.get(week) ?? 0) + epsilon);
    this.sums.set(analyst, own);
  }

  draw() {
    const weeks = [...new Set([...this.sums.values()].flatMap((own) => [...own.keys()]))].sort().slice(-WEEKS).reverse();
    const rows = [...this.sums].sort(([one], [other]) => one.localeCompare(other));
    const cell = (value) => (value ? amount(value) : "–");
    fill("weeks", ["Analyst", ...weeks.map(named), "All weeks"], rows.map(([analyst, own]) => [
      analyst, ...weeks.map((week) => cell(own.get(week))), amount([...own.values()].reduce((sum, value) => sum + value, 0)),
    ]), [...weeks.map((_, place) => place + 1), weeks.length + 1]);
  }
}

function named(week) {
  return new Date(`${week}T00:00Z`).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });
}

// The Monday of a moment's week, in UTC.
function monday(ms) {
  const day = Math.floor(ms / DAY_MS);
  return new Date((day - ((day + 3) % 7)) * DAY_MS).toISOString().slice(0, 10);
}

export function drawCharges(charges) {
  fill("charges", ["Number", "When", "Analyst", "Epsilon", "Delta", "State", "Mechanism", "Request"], charges.toReversed().map((charge) => [
    String(charge.number), when(charge.reserved_at_ms), charge.analyst, amount(charge.epsilon), small(charge.delta),
    charge.state, charge.mechanism, element("code", {}, charge.request_id.slice(0, 8)),
  ]), [3, 4]);
}
