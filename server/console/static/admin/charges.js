// What questions cost: by analyst and week or day, and one by one.

import { byId, element, show } from "../common/dom.js";
import { amount, small, zoned } from "../common/format.js";
import { attempt, fill, get } from "./office.js";

const PERIODS = 8;
const DAY_MS = 86_400_000;

// Sums of all charges, updated page by page; charges that were given back do not count.
export class Weeks {
  constructor() {
    this.sums = new Map();
  }

  add({ analyst, epsilon, state, reserved_at_ms: at }) {
    if (state === "released") return;
    const day = Math.floor(at / DAY_MS);
    const own = this.sums.get(analyst) ?? new Map();
    own.set(day, (own.get(day) ?? 0) + epsilon);
    this.sums.set(analyst, own);
  }

  draw(period = "week") {
    const first = period === "week" ? monday : (day) => day;
    const all = [...this.sums].map(([analyst, own]) => [analyst, d3.rollup(own, (days) => d3.sum(days, ([, epsilon]) => epsilon), ([day]) => first(day)), d3.sum(own.values())]);
    const periods = d3.sort(new Set(all.flatMap(([, own]) => [...own.keys()]))).slice(-PERIODS).reverse();
    const rows = all.sort(([one, , first], [other, , second]) => second - first || one.localeCompare(other));
    const cell = (value) => (value ? amount(value) : "–");
    fill("weeks", ["Analyst", ...periods.map(named), "In all"], rows.map(([analyst, own, sum]) => [
      analyst, ...periods.map((period) => cell(own.get(period))), amount(sum),
    ]), [...periods.map((_, place) => place + 1), periods.length + 1]);
  }
}

// What each account spent by hour, of all charges: those that are listed are the newest ones.
export class Spending {
  constructor() {
    this.accounts = new Map();
  }

  add({ accounts, epsilon, state, reserved_at_ms: at }) {
    if (state === "released") return;
    for (const account of accounts) {
      const hours = this.accounts.get(account) ?? new Map();
      hours.set(at, (hours.get(at) ?? 0) + epsilon);
      this.accounts.set(account, hours);
    }
  }

  of(account) {
    const hours = [...(this.accounts.get(account) ?? [])].sort(([one], [other]) => one - other);
    return hours.map(([at, epsilon]) => ({ reserved_at_ms: at, epsilon, state: "committed" }));
  }
}

function named(day) {
  return new Date(day * DAY_MS).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });
}

// The Monday of a day's week, in UTC; days count from 1970.
function monday(day) {
  return day - ((day + 3) % 7);
}

const HEADS = ["Number", ["When", "hour"], "Analyst", ["Epsilon", "epsilon"], ["Delta", "delta"], ["State", "state"], ["Mechanism", "mechanism"], ["Request", "request"]];

// keepsQuestions: does the ledger store question texts?
export function drawCharges(charges, keepsQuestions) {
  show(byId("no-words"), !keepsQuestions);
  show(byId("words"), keepsQuestions);
  const field = byId("find-charge");
  const found = async () => list(field.value.trim() ? await sought(field.value.trim(), charges) : charges);
  field.oninput = () => attempt(found);
  return found();
}

// The charge of that number, even if it is not shown; else the shown charges with that request prefix or analyst.
async function sought(text, charges) {
  const numbered = charges.filter(({ number }) => String(number) === text);
  if (numbered.length) return numbered;
  const shown = charges.filter(({ request_id: request, analyst }) => request.startsWith(text) || analyst.includes(text));
  if (shown.length || !/^[1-9]\d{0,14}$/.test(text)) return shown;
  const page = await get(`/charges?limit=1&after=${Number(text) - 1}`);
  return page.filter(({ number }) => String(number) === text);
}

function list(charges) {
  fill("charges", HEADS, charges.toReversed().map((charge) => [
    String(charge.number), zoned(charge.reserved_at_ms), charge.analyst, amount(charge.epsilon), small(charge.delta),
    charge.state, charge.mechanism, element("code", { title: charge.request_id }, charge.request_id.slice(0, 8)),
  ]), [3, 4]);
}
