// Suggests counts instead of rows, by columns whose values the policy lists.

import { statements, tokens } from "./tokens.js";

const MOST_VALUES = 50;
const MOST_OFFERED = 3;
const ENDS = new Set(["group", "having", "order", "limit", "offset", "fetch", "for", "union", "intersect", "except", "window"]);

// Pairs of a label and SQL; none unless the statement is a simple SELECT of rows.
export function counts(sql, tables) {
  const [only, ...more] = statements(sql);
  const rows = only && !more.length ? source(only.text) : null;
  if (!rows) return [];
  const named = tables.filter((table) => mentions(rows.from, table.sql) || mentions(rows.from, table.name));
  if (!named.length) return [];
  const columns = named.flatMap((table) => table.columns.filter(({ domain }) => domain?.length > 1 && domain.length <= MOST_VALUES));
  const once = columns.filter(({ name }, place) => columns.findIndex((other) => other.name === name) === place);
  const wanted = [...once.filter(({ name }) => mentions(rows.select, name)), ...once.filter(({ name }) => !mentions(rows.select, name))];
  const by = wanted.slice(0, MOST_OFFERED).map(({ name }) => {
    const column = /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
    return [`Count by ${name}`, `SELECT ${column}, count(*)\n${rows.from}\nGROUP BY ${column}`];
  });
  return [...by, ["Count them", `SELECT count(*)\n${rows.from}`]];
}

// The select list, and FROM with WHERE, of a SELECT without subqueries.
function source(sql) {
  const words = tokens(sql);
  const at = (word) => words.findIndex(({ text, kind }) => kind !== "string" && kind !== "comment" && text.toLowerCase() === word);
  const from = at("from");
  const first = words.find(({ text, kind }) => kind !== "comment" && text.trim());
  if (first?.text.toLowerCase() !== "select" || from < 0) return null;
  if (words.slice(from + 1).some(({ text }) => text.toLowerCase() === "select")) return null;
  const end = words.findIndex(({ text, kind }, place) => place > from && kind !== "string" && ENDS.has(text.toLowerCase()));
  const joined = (some) => some.map(({ text }) => text).join("").trim().replace(/;\s*$/, "").trim();
  return { select: joined(words.slice(0, from)), from: joined(words.slice(from, end < 0 ? undefined : end)) };
}

function mentions(text, name) {
  const plain = name.replace(/"/g, "").replace(/[^\w.]/g, "\\$&");
  return new RegExp(String.raw`(^|[^\w])"?${plain}"?($|[^\w])`, "i").test(text);
}
