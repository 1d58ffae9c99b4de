// What is left of an account over time, from its charges, newest last.

import { element } from "../common/dom.js";
import { amount, small } from "../common/format.js";

const COUNTED = { basic: "basic composition", zcdp: "zCDP", renyi: "Rényi privacy" };

export function panel(account, charges) {
  const used = account.epsilon - account.epsilon_left;
  return element(
    "div", { class: "panel" },
    element("h3", {}, account.account, account.low ? element("span", { class: "bad" }, " about to run out") : ""),
    element("div", { class: "gauge", role: "meter", "aria-label": `Budget of ${account.account}`, "aria-valuemin": 0,
      "aria-valuemax": account.epsilon, "aria-valuenow": account.epsilon_left }, left(account)),
    element("p", { class: "hint" }, `epsilon ${amount(account.epsilon_left)} of ${amount(account.epsilon)} left, ` +
      (account.delta ? `delta ${small(account.delta_left)} of ${small(account.delta)} left, ` : "") + `counted by ${COUNTED[account.accounting]}` +
      (account.epsilon_left_basic === null ? "" : ` (basic composition would have epsilon ${amount(account.epsilon_left_basic)} left)`)),
    element("p", { class: "hint" }, `Protects at ${account.guarantee}.`),
    used > 0 && new Set(charges.map(({ reserved_at_ms: at }) => at)).size > 1 && account.accounting === "basic" ? drawn(account, charges) : null,
  );
}

function left({ epsilon, epsilon_left: remaining }) {
  const bar = element("div", { class: "left" });
  bar.style.width = `${(100 * remaining) / epsilon}%`;
  return bar;
}

function drawn(account, charges) {
  const spending = charges.filter(({ state }) => state !== "released");
  let remaining = account.epsilon_left + spending.reduce((sum, { epsilon }) => sum + epsilon, 0);
  const points = spending.map(({ reserved_at_ms: at, epsilon }) => {
    remaining -= epsilon;
    return { at: new Date(at), remaining: Math.max(0, remaining) };
  });
  const picture = Plot.plot({
    width: 300, height: 120, marginLeft: 36, marginBottom: 32,
    x: { label: null, ticks: 3 }, y: { label: null, ticks: 3, grid: true, domain: [0, Math.max(account.epsilon, points[0].remaining)] },
    marks: [Plot.lineY(points, { x: "at", y: "remaining", curve: "step-after", stroke: "var(--accent)", strokeWidth: 2 }), Plot.ruleY([0])],
  });
  for (const part of picture.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // parts of one picture
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `What was left of ${account.account} after each charge`);
  return picture;
}
