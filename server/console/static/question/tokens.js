// SQL as coloured tokens, for display only.

import { element } from "../common/dom.js";

const PIECE = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("[^"]*(?:"|$))|(\b\d+(?:\.\d+)?\b)|([A-Za-z_][\w$]*)|([\s\S])/g;

export const KEYWORDS = new Set(
  ("ALL AND AS ASC AVG BETWEEN BY CASE CAST COUNT CROSS DATE DESC DISTINCT ELSE END EXPLAIN EXTRACT FALSE FETCH FILTER " +
    "FROM GROUP HAVING IN INNER INTERVAL IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER SELECT SUM " +
    "TABLESAMPLE THEN TRUE USING WHEN WHERE WITH").split(" "),
);

export function tokens(sql) {
  return [...sql.matchAll(PIECE)].map((match) => {
    const [text, comment, string, , number, word] = match;
    let kind = "";
    if (comment) kind = "comment";
    else if (string) kind = "string";
    else if (number) kind = "number";
    else if (word && KEYWORDS.has(word.toUpperCase())) kind = "keyword";
    return { text, kind, start: match.index, word: Boolean(word) };
  });
}

// The statements of a text, split at each `;` that is no part of a string or a comment; empty ones are left out. Comments
// between statements are left out: one behind a `;` may describe the statement before it.
export function statements(sql) {
  const found = [];
  let [start, end] = [null, 0];
  const split = () => {
    if (start !== null) found.push({ text: sql.slice(start, end), start });
    start = null;
  };
  for (const { text, kind, start: at } of tokens(sql)) {
    if (text === ";" && !kind) split();
    else if (kind !== "comment" && text.trim()) {
      start ??= at;
      end = at + text.length;
    }
  }
  split();
  return found;
}

// Coloured SQL for display.
export function coloured(sql) {
  return tokens(sql).map(({ text, kind }) => (kind ? element("span", { class: `tok-${kind}` }, text) : text));
}

// A question in one line, without comments.
export function normal(sql) {
  const pieces = tokens(sql).map(({ text, kind }) => (kind === "comment" || !text.trim() ? " " : text)).join("");
  return pieces.replace(/\s+/g, " ").replace(/(\s*;)?\s*$/, "").trim();
}
