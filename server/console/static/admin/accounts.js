// Budgets: what is left of each account, at what it protects, and until when it lasts at the pace of the last weeks.

import { panel } from "../charts/burndown.js";
import { byId, element } from "../common/dom.js";
import { amount, several } from "../common/format.js";

const PACE_DAYS = 14;
const DAY_MS = 86_400_000;

export function drawAccounts(accounts, charges) {
  byId("accounts").querySelector(".panels").replaceChildren(...accounts.map((account) => {
    const own = charges.filter((charge) => charge.accounts.includes(account.account));
    const made = panel(account, own);
    made.append(element("p", { class: "forecast" }, forecast(account, own)));
    return made;
  }));
  byId("account-names").replaceChildren(...accounts.map(({ account }) => element("option", { value: account })));
}

// A straight line from what was spent lately: no promise, and above what tighter accounting would take.
export function forecast({ epsilon_left: left, renews_at_ms: renews }, charges, now = Date.now()) {
  const spent = charges.filter(({ state, reserved_at_ms: at }) => state !== "released" && at > now - PACE_DAYS * DAY_MS);
  const sum = spent.reduce((total, { epsilon }) => total + epsilon, 0);
  if (left <= 0) return renews ? `Nothing is left until ${day(renews)}.` : "Nothing is left.";
  if (!sum) return `Nothing was spent in the last ${PACE_DAYS} days.`;
  const first = Math.min(...spent.map(({ reserved_at_ms: at }) => at));
  const days = Math.min(PACE_DAYS, Math.max(1, (now - first) / DAY_MS));
  const pace = sum / days;
  const end = now + (left / pace) * DAY_MS;
  const at = `at epsilon ${amount(pace)} a day, as ${days < PACE_DAYS ? "since the first question" : `in the last ${PACE_DAYS} days`}`;
  if (renews && end > renews) return `Lasts until it begins anew on ${day(renews)}, ${at}.`;
  return left / pace > 3650 ? `Lasts more than ten years, ${at}.` : `Lasts about ${several(Math.max(1, Math.round(left / pace)), "day")}, until ${day(end)}, ${at}.`;
}

function day(ms) {
  return new Date(ms).toLocaleDateString("en", { dateStyle: "medium" });
}

// What the form says, as the API takes it. A delta that is left empty stays as it is.
export function grantOf({ account, epsilon = 0, delta, renew, most, reason }, act) {
  const body = { epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }), reason };
  const path = `/accounts/${encodeURIComponent(account)}`;
  if (act !== "grant") return ["POST", `${path}/top-up`, body];
  const total = most === undefined ? {} : { most_in_total: most === "unlimited" ? most : Number(most) };
  return ["PUT", path, { ...body, ...(renew ? { renew } : {}), ...total }];
}
