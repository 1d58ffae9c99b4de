// The tables that may be queried, as a tree from which names can be inserted.

import { byId, element } from "../common/dom.js";

export class SchemaTree {
  constructor(insert) {
    this.insert = insert;
    this.tables = [];
    byId("schema-filter").addEventListener("input", (event) => this.draw(event.target.value.toLowerCase()));
  }

  set(schema) {
    this.tables = schema.tables;
    this.draw("");
  }

  draw(filter) {
    const matches = (text) => text.toLowerCase().includes(filter);
    const shown = this.tables.flatMap((table) => {
      const columns = table.columns.filter((column) => matches(column.name));
      if (!matches(table.name) && !columns.length) return [];
      return [this.table(table, matches(table.name) ? table.columns : columns, filter !== "")];
    });
    byId("schema").replaceChildren(...shown);
  }

  table(table, columns, open) {
    const tag = table.privacy_unit ? ["tag unit", "people"] : ["tag", table.public ? "public" : "private"];
    return element(
      "details", { open },
      element("summary", {}, table.name, element("span", { class: tag[0] }, tag[1])),
      element("ul", {}, columns.map((column) => element(
        "li", {},
        element("button", { type: "button", title: "Put into the question", onclick: () => this.insert(column.name) }, column.name),
        element("span", { class: "type" }, [column.type, column.note].filter(Boolean).join(", ")),
      ))),
      table.joins.length ? element("ul", { "aria-label": "Joins" }, table.joins.map((join) => element(
        "li", {}, element("span", { class: "type" }, `${join.columns.join(", ")} → ${join.table} (${join.key.join(", ")})`),
      ))) : null,
    );
  }
}
