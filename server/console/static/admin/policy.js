// The policy as sentences: whom it protects, what is free, what a question may spend; past policies and data versions.

import { Problem } from "../common/api.js";
import { byId, element, show, toast } from "../common/dom.js";
import { amount, listed, small, zoned } from "../common/format.js";
import { worded } from "./log.js";
import { attempt, get, send } from "./office.js";

export function drawPolicy(dataset, schema, acts) {
  const rows = [
    ...protects(schema),
    ["Policy in force", element("code", {}, dataset.policy_hash)],
    ...(dataset.accepted_policy_hash === dataset.policy_hash ? [] : [
      ["Accepted, not in force yet", `${dataset.accepted_policy_hash ?? "none"} (a reload takes it over)`],
    ]),
    ["Data version", String(dataset.data_version)],
  ];
  byId("policy").replaceChildren(...rows.flatMap(([name, words]) => [element("dt", {}, name), element("dd", {}, words)]));
  byId("versions").replaceChildren(...acts.filter(({ kind }) => kind === "policy" || kind === "data").toReversed().map(({ kind, at_ms: at, content }) => (
    element("li", {}, `${zoned(at)}: ${worded(kind, content)} ${content.by}: ${content.reason}`))));
}

export function protects({ tables, epsilon, max_epsilon: most, delta, time_grain: grain, unbounded_joins: unbounded }) {
  const names = (wanted) => tables.filter(wanted).map(({ name }) => name);
  const people = names((table) => table.privacy_unit);
  const owned = names((table) => !table.privacy_unit && !table.public && table.kind === "table");
  const open = names((table) => table.public);
  const found = [["Protects", `everybody in ${listed(people)}: whether all or some of one's rows are there, answers look nearly the same.`]];
  if (owned.length) found.push(["Theirs", `rows of ${listed(owned)} belong to them along the keys; rows without an owner are never counted.`]);
  found.push(["Public", open.length ? `${listed(open)}: answered exactly and free, so they must say nothing of anybody.` : "nothing is."]);
  found.push(["Anything else", "in the database cannot be asked about."]);
  found.push(["A question", `spends epsilon ${amount(epsilon)} unless it says otherwise, ${amount(most)} at most${delta ? `, and delta ${small(delta)}` : ", and no delta"}. now() stands still for a ${grain}. ` +
    (unbounded ? "Private tables may meet by any condition." : "Private tables meet by their keys only.")]);
  return found;
}

// Differences line by line: of the last change, and of a reload.
export function drawChanges({ last, pending }) {
  for (const [id, lines] of [["pending", pending], ["last-change", last]]) {
    show(byId(id), lines.length > 0);
    byId(id).querySelector("pre").replaceChildren(...lines.flatMap((line) => [element("span", { class: SIGNS[line[0]] }, line), "\n"]));
  }
}

const SIGNS = { "+": "added", "-": "removed", "@": "place" };

// A policy that protects less is told, and only taken when it is confirmed by its hash.
export async function reload(reason, done, confirm = undefined) {
  const box = byId("weaker");
  show(box, false);
  try {
    const { changed, weaker } = await send("POST", "/policy/reload", confirm ? { reason, confirm } : { reason });
    toast(changed ? `The new policy is in force.${weaker.length ? ` It protects less: ${weaker.join("; ")}` : ""}` : "The policy is the one that was in force.");
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "PD004") throw error;
    drawChanges(await get("/policy/changes"));
    const hash = /[0-9a-f]{64}/.exec(`${error.message} ${error.hint}`)?.[0];
    box.replaceChildren(
      element("p", {}, error.message),
      element("p", {}, "Line by line, it stands above."),
      hash ? element("button", { type: "button", onclick: () => attempt(async () => { await reload(reason, done, hash); await done(); }) }, "It is meant: take it") : "",
    );
    show(box, true);
    box.scrollIntoView({ block: "nearest" });
  }
}
