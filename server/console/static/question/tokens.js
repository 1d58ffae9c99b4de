// SQL to coloured pieces: enough for the eye, the proxy's own parser decides.

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

// The statements of a text, cut at each `;` that is no part of a string or a comment; empty ones are left out. Comments
// before and behind one are nobody's: the one behind a `;` may speak of what stands before it.
export function statements(sql) {
  const found = [];
  let [start, end] = [null, 0];
  const cut = () => {
    if (start !== null) found.push({ text: sql.slice(start, end), start });
    start = null;
  };
  for (const { text, kind, start: at } of tokens(sql)) {
    if (text === ";" && !kind) cut();
    else if (kind !== "comment" && text.trim()) {
      start ??= at;
      end = at + text.length;
    }
  }
  cut();
  return found;
}

// Coloured SQL, to look at.
export function coloured(sql) {
  return tokens(sql).map(({ text, kind }) => (kind ? element("span", { class: `tok-${kind}` }, text) : text));
}

// The same question in one line, however it is spaced and commented.
export function normal(sql) {
  const pieces = tokens(sql).map(({ text, kind }) => (kind === "comment" || !text.trim() ? " " : text)).join("");
  return pieces.replace(/\s+/g, " ").replace(/(\s*;)?\s*$/, "").trim();
}
