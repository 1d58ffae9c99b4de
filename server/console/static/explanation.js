// What the question would cost, how exact its answer would be, and whom it protects.

import { byId, element, show } from "./dom.js";
import { amount, number, small } from "./format.js";

export function explain(explanation) {
  const root = byId("explanation");
  const facts = explanation.privacy_units.length ? privateFacts(explanation) : [["Charge", "none: public tables only, answered exactly"]];
  root.querySelector("dl").replaceChildren(...facts.flatMap(([name, words]) => [element("dt", {}, name), element("dd", {}, words)]));
  root.querySelector("pre").textContent = explanation.rewritten_sql;
  const noise = explanation.expected_noise.flatMap(([, pairs]) => pairs.slice(0, 20));
  root.querySelector("tbody").replaceChildren(...noise.map(([tau, width]) => element(
    "tr", {}, element("td", { class: "number" }, number(tau)), element("td", { class: "number" }, `± ${number(width)}`),
  )));
  show(root, true);
}

function privateFacts(explanation) {
  const facts = [
    ["Charge", `epsilon ${amount(explanation.epsilon)}` + (explanation.delta ? `, delta ${small(explanation.delta)}` : "")],
    ["Expect", explanation.expected_noise.map((noise, place) => expected(noise, explanation.weight_bounds[place][1])).join("; ")],
    ["Protects", protection(explanation)],
  ];
  if (explanation.reuse) facts.push(["For free", explanation.reuse]);
  if (explanation.n_groups > 1) facts.push(["Groups", `${number(explanation.n_groups, "int8")}, each with its own noise`]);
  const { mechanism, reason } = explanation;
  facts.push(["Mechanism", reason.startsWith(mechanism) ? reason : `${mechanism}: ${reason}`]);
  if (explanation.sampling) facts.push(["Sample", explanation.sampling]);
  return facts;
}

// Noise grows with what one person may add: what a whole row adds, and many times as much.
function expected([label, pairs], row) {
  if (!pairs.length) return label;
  const first = Math.max(0, pairs.findIndex(([tau]) => tau >= row));
  const [tau, width] = pairs[first];
  const [wideTau, wide] = pairs[Math.min(pairs.length - 1, first + 5)];
  return `${label} within ± ${number(width)} if nobody adds more than ${number(tau)}` +
    (wide > width ? `, ± ${number(wide)} if up to ${number(wideTau)}` : "");
}

function protection({ privacy_units: units }) {
  const names = units.length === 1 ? units[0] : `${units.slice(0, -1).join(", ")} and ${units.at(-1)}`;
  return `every ${names}: whether all or some of one's rows are there, the answers look nearly the same`;
}
