// The audit log: acts as sentences, with their entries.

import { element } from "../common/dom.js";
import { amount, small, zoned } from "../common/format.js";
import { fill } from "./office.js";

const NANO = 1e9;
const ATTO = 1e18;
const COUNTED = { basic: "added up", zcdp: "counted by zCDP", renyi: "counted by Rényi privacy" };

export function drawLog(entries) {
  fill("acts", ["Entry", "When", "What", "By", "Why", "Details"], entries.toReversed().map(({ number, at_ms: at, kind, content, hash }) => [
    String(number), zoned(at), named(kind, content), String(content.by ?? ""), String(content.reason ?? ""), details(kind, content, hash),
  ]));
}

// Older ledgers record a disabled analyst as an entry `enabled` with value 0.
export function named(kind, { enabled }) {
  if (kind === "enabled" || kind === "disabled") return enabled ? "enabled" : "disabled";
  return kind;
}

function details(kind, content, hash) {
  const raw = element("details", { class: "raw" }, element("summary", {}, "entry"), element("code", {}, JSON.stringify({ ...content, hash }, null, 1)));
  return element("div", {}, worded(kind, content), raw);
}

export function worded(kind, content) {
  const { analyst, account, role, group, version } = content;
  switch (kind) {
    case "opened": return "The ledger begins.";
    case "analyst": return `${analyst} holds a key as ${role}${group ? `, in group ${group}` : ""}.`;
    case "key": return `${analyst} has another key.`;
    case "role": return `${analyst} is ${role} now.`;
    case "enabled": case "disabled": return content.enabled ? `${analyst} may ask again.` : `${analyst} may not ask any more.`;
    case "group": return group ? `${analyst} is in group ${group}.` : `${analyst} is in no group.`;
    case "grant": return content.nano_epsilon > 1 ? `${account} may spend ${granted(content)}.` : `${account} may spend nothing: it asks no questions.`;
    case "policy": return policy(content);
    case "data": return `The data is version ${version}.`;
    case "checked": return `Keys of data version ${version} hold: ${content.keys.join(", ")}.`;
    case "periods": return `Closed periods of ${Object.keys(content.tables).join(", ")} were noted for data version ${version}.`;
    case "restored": return content.missing === null ? "Restored from a copy." : `Restored from a copy that lacks ${content.missing} entries.`;
    case "clock": return `The clock is ${amount(content.behind_ms / 1000)} s behind the ledger.`;
    case "renewed": return `${account} begins again.`;
    case "tuning": return `Contributions are counted at epsilon ${amount(content.nano_epsilon / NANO)}: ${content.measures.map((names) => names.join(".")).join(", ")}. It adds to everybody's guarantee.`;
    case "tuned": return content.histograms ? `Tuning ${content.tuning} was released.` : `Tuning ${content.tuning} read nothing: its epsilon is given back.`;
    default: return JSON.stringify(content);
  }
}

function granted({ nano_epsilon: nano, atto_delta: atto, accounting, renew, window_ms: window, nano_cap: cap, most_nano: most }) {
  return [
    `epsilon ${amount(nano / NANO)}`, atto ? `delta ${small(atto / ATTO)}` : "", COUNTED[accounting] ?? accounting,
    renew ? `again each ${renew}` : "", window ? `again every ${amount(window / 86_400_000)} days` : "",
    cap ? `at most ${amount(cap / NANO)} a question` : "", renew ? (most ? `at most ${amount(most / NANO)} in total` : "without an end") : "",
  ].filter(Boolean).join(", ");
}

function policy({ policy_hash: hash, weakens = [], acknowledged = null }) {
  const less = weakens.length ? ` It protects less than the one before: ${weakens.join("; ")}.` : "";
  const known = acknowledged?.length ? ` Acknowledged: ${acknowledged.join("; ")}.` : "";
  return `Policy ${hash.slice(0, 8)} was accepted.${less}${known}`;
}
