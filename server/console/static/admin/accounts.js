// Budgets: what is left of each account, its guarantee, and how long it lasts at the recent pace.

import { panel } from "../charts/burndown.js";
import { Problem } from "../common/api.js";
import { byId, element } from "../common/dom.js";
import { amount, listed, several } from "../common/format.js";

const PACE_DAYS = 14;
const LEAST_DAYS = 2; // of use, before a pace is computed
const DAY_MS = 86_400_000;

// Keys that ask no questions have an empty budget; their accounts are left out.
const NOTHING = 1e-9;

// spending: of all charges (`Spending`).
export function drawAccounts(all, spending) {
  const accounts = all.filter(({ epsilon }) => epsilon > NOTHING).sort((one, other) => other.low - one.low);
  const low = accounts.filter((account) => account.low).map((one) => `${one.account}${onlyDelta(one) ? " (delta)" : ""}`);
  byId("running-out").textContent = low.length ? `About to run out, a tenth left or less: ${listed(low)}.` : "No account is about to run out: each has more than a tenth left.";
  byId("accounts").querySelector(".panels").replaceChildren(...accounts.map((account) => {
    const own = spending.of(account.account);
    const made = panel(account, own);
    made.append(element("p", { class: "forecast" }, forecast(account, own)));
    return made;
  }));
  byId("group-names").replaceChildren(...accounts.filter(({ account }) => account.startsWith("group:")).map(({ account }) => element("option", { value: account.slice(6) })));
  byId("account-names").replaceChildren(...accounts.map(({ account }) => element("option", { value: account })));
}

// Is only the delta about to run out?
function onlyDelta({ epsilon, epsilon_left: left, delta, delta_left: deltaLeft }) {
  return left > epsilon / 10 && delta > 0 && deltaLeft <= delta / 10;
}

// A straight line through recent spending. It is no guarantee, and tighter accounting spends less.
export function forecast({ epsilon_left: left, renews_at_ms: renews }, charges, now = Date.now()) {
  const spent = charges.filter(({ state, reserved_at_ms: at }) => state !== "released" && at > now - PACE_DAYS * DAY_MS);
  const sum = spent.reduce((total, { epsilon }) => total + epsilon, 0);
  if (left <= 0) return renews ? `Nothing is left until ${day(renews)}.` : "Nothing is left.";
  if (!sum) return `Nothing was spent in the last ${PACE_DAYS} days.`;
  const first = Math.min(...spent.map(({ reserved_at_ms: at }) => at));
  if (now - first < LEAST_DAYS * DAY_MS) return `Too early to tell how long it lasts: its first question was asked less than ${LEAST_DAYS} days ago.`;
  const days = Math.min(PACE_DAYS, (now - first) / DAY_MS);
  const pace = sum / days;
  const end = now + (left / pace) * DAY_MS;
  const at = `at epsilon ${amount(pace)} a day, as ${days < PACE_DAYS ? "since the first question" : `in the last ${PACE_DAYS} days`}`;
  if (renews && end > renews) return `Lasts until it begins again on ${day(renews)}, ${at}.`;
  return left / pace > 3650 ? `Lasts more than ten years, ${at}.` : `Lasts about ${several(Math.max(1, Math.round(left / pace)), "day")}, until ${day(end)}, ${at}.`;
}

// What an account may spend after the change.
export function grantedWords({ account, epsilon_left: left, delta, guarantee }) {
  const pure = !delta && !account.startsWith("analyst:") ? " It has no delta, so its payers cannot use partition selection." : "";
  return `Done: the guarantee of ${account} is ${guarantee}; epsilon ${amount(left)} is left.${pure}`;
}

function day(ms) {
  return new Date(ms).toLocaleDateString("en", { dateStyle: "medium" });
}

// The form's values as the API expects them; empty fields stay unchanged. Throws a Problem if the act would ignore a
// value.
export function grantOf({ account, epsilon = 0, delta, renew, most, reason }, act) {
  if (act !== "grant" && (renew || most !== undefined)) {
    throw new Problem({ message: "Add only gives more: it changes no period, and nothing was changed.",
      hint: "Set anew says all that the account may spend, and how it renews." });
  }
  if (act === "grant" && !Number(epsilon)) {
    throw new Problem({ message: "Set anew needs an epsilon: all that the account may spend, of each period where it renews." });
  }
  const body = { epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }), reason };
  const path = `/accounts/${encodeURIComponent(account)}`;
  if (act !== "grant") return ["POST", `${path}/top-up`, body];
  return ["PUT", path, { ...body, ...(renew ? { renew } : {}), ...totalOf(most) }];
}

// The total of all periods as the API expects it.
export function totalOf(most) {
  return most === undefined ? {} : { most_in_total: most === "unlimited" ? most : Number(most) };
}
