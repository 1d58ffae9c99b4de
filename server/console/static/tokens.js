// SQL to coloured pieces: enough for the eye, the proxy's own parser decides.

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

// The statements of a text, cut at each `;` that is no part of a string or a comment; empty ones are left out.
export function statements(sql) {
  const found = [];
  let start = 0;
  let said = false;
  for (const { text, kind, start: at } of tokens(sql)) {
    if (text === ";" && !kind) {
      if (said) found.push({ text: sql.slice(start, at).trim(), start });
      start = at + 1;
      said = false;
    } else if (kind !== "comment" && text.trim()) said = true;
  }
  if (said) found.push({ text: sql.slice(start).trim(), start });
  return found;
}
