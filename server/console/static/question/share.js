// A question as a link within the proxy: its text is in the fragment, which browsers do not send to servers. It never holds a key.

import { typable } from "../common/dom.js";

// The message after a link is copied.
export const LINKED = "Link copied. It holds the question, no answer and no key: who opens it, with an own key, pays for the answer or has paid.";

const FIELDS = { sql: "sql", epsilon: "epsilon", max_relative_error: "within" };

export function linkTo(question) {
  const fields = Object.entries(FIELDS).filter(([name]) => question[name] !== undefined && question[name] !== null);
  const fragment = new URLSearchParams(fields.map(([name, short]) => [short, String(question[name])]));
  return `${location.origin}/#${fragment}`;
}

// Take the question out of the page's address; null: there is none.
export function linked() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const sql = fragment.get("sql");
  if (!sql) return null;
  history.replaceState(null, "", location.pathname);
  if (!typable(sql)) return null;
  const numeric = (name) => (Number(fragment.get(name)) > 0 ? Number(fragment.get(name)) : null);
  return { sql, epsilon: numeric("epsilon"), max_relative_error: numeric("within") };
}
