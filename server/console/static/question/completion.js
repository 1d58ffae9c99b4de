// Completions of a word: tables after FROM and JOIN, columns of the tables that the statement names.

import { KEYWORDS, statements } from "./tokens.js";

const SHOWN = 12;
const NAME = String.raw`[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)?`;
const ALIASED = new RegExp(String.raw`\b(?:FROM|JOIN|,)\s*(${NAME})(?:\s+(?:AS\s+)?([A-Za-z_][\w$]*))?`, "gi");

// Returns the completions ({text, type}) and the typed prefix.
export function completions(sql, cursor, tables) {
  const before = sql.slice(0, cursor);
  const [, path = null, word = ""] = /(?:([A-Za-z_][\w$.]*)\.)?([A-Za-z_][\w$]*)?$/.exec(before);
  const whole = path === null ? word : `${path}.${word}`;
  const named = whole && tables.filter(({ sql: name }) => starts(name, whole));
  if (path !== null && named.length) return { found: few(named.map(tableOf), whole), after: whole };
  const used = tablesOf(statementAt(sql, cursor), tables);
  if (path !== null) {
    const called = used.filter(({ alias }) => alias === path.toLowerCase()).map(({ table }) => table);
    const columns = (called.length ? called : tables).flatMap(columnsOf);
    return { found: few(columns.filter(({ text }) => starts(text, word)), word), after: word };
  }
  const here = tables.map(tableOf);
  const own = used.flatMap(({ table }) => columnsOf(table));
  const words = [...KEYWORDS].map((text) => ({ text, type: "" }));
  const places = /\b(?:FROM|JOIN)\s+\w*$/i.test(before) ? [...here] : [...own, ...here, ...tables.flatMap(columnsOf), ...words];
  return { found: few(places.filter(({ text }) => starts(text, word)), word), after: word };
}

function starts(text, typed) {
  return text.toLowerCase().startsWith(typed.toLowerCase());
}

const tableOf = ({ sql }) => ({ text: sql, type: "table" });
const columnsOf = ({ columns }) => columns.map(({ name, type }) => ({ text: name, type }));

// Each name once; a complete word has no completion.
function few(found, typed) {
  const seen = new Map(found.map((one) => [one.text, one]).reverse());
  const order = [...new Set(found.map(({ text }) => text))];
  return order.filter((text) => text.toLowerCase() !== typed.toLowerCase()).slice(0, SHOWN).map((text) => seen.get(text));
}

function statementAt(sql, cursor) {
  return statements(sql).filter(({ start }) => start <= cursor).at(-1)?.text ?? sql;
}

// The tables that a statement names, by their aliases.
function tablesOf(statement, tables) {
  return [...statement.matchAll(ALIASED)].flatMap(([, name, alias]) => {
    const table = tables.find(({ sql }) => [sql, sql.split(".").at(-1)].some((one) => one.toLowerCase() === name.toLowerCase()));
    if (!table) return [];
    const own = [name, name.split(".").at(-1), ...(alias && !KEYWORDS.has(alias.toUpperCase()) ? [alias] : [])];
    return own.map((one) => ({ alias: one.toLowerCase(), table }));
  });
}
