// What questions cost: by analyst and week, and one by one.

import { byId, element, show } from "../common/dom.js";
import { amount, small, zoned } from "../common/format.js";
import { attempt, fill, get } from "./office.js";

const WEEKS = 8;
const DAY_MS = 86_400_000;

// Sums of all charges, updated page by page; charges that were given back do not count.
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
    const rows = [...this.sums].map(([analyst, own]) => [analyst, own, [...own.values()].reduce((sum, value) => sum + value, 0)])
      .sort(([one, , first], [other, , second]) => second - first || one.localeCompare(other));
    const cell = (value) => (value ? amount(value) : "–");
    fill("weeks", ["Analyst", ...weeks.map(named), "All weeks"], rows.map(([analyst, own, sum]) => [
      analyst, ...weeks.map((week) => cell(own.get(week))), amount(sum),
    ]), [...weeks.map((_, place) => place + 1), weeks.length + 1]);
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

function named(week) {
  return new Date(`${week}T00:00Z`).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" });
}

// The Monday of a time's week, in UTC.
function monday(ms) {
  const day = Math.floor(ms / DAY_MS);
  return new Date((day - ((day + 3) % 7)) * DAY_MS).toISOString().slice(0, 10);
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
