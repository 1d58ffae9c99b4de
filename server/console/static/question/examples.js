// Example questions that the proxy suggests for its schema, those about people first.

import { byId, element, quiet } from "../common/dom.js";

export function offerExamples(examples, take) {
  if (!examples.length) return;
  const tables = new Map();
  for (const { name, sql } of examples) {
    const [, table, words] = /^(.*?): (.*)$/.exec(name) ?? [null, "", name];
    tables.set(table, [...(tables.get(table) ?? []), quiet(words, () => take(sql), { "aria-label": name, title: sql })]);
  }
  byId("examples").replaceChildren(element("span", {}, "Try"), ...[...tables].map(([table, buttons]) => (
    element("span", { class: "about" }, element("span", { class: "of" }, table), buttons))));
}
