// The answer: chart, table, and a file to take along.

import { chart } from "./charts/chart.js";
import { byId, element, show } from "./dom.js";
import { amount, isNumber, number, range } from "./format.js";

const MOST_ROWS = 1000;

export class Result {
  constructor() {
    this.answer = null;
    for (const tab of ["chart", "table"]) byId(`tab-${tab}`).addEventListener("click", () => this.open(tab));
    byId("tab-chart").parentElement.addEventListener("keydown", (event) => this.arrow(event));
    byId("download").addEventListener("click", () => this.download());
  }

  set(answer) {
    this.answer = answer;
    show(byId("result"), true);
    byId("result-words").textContent = cost(answer);
    byId("notes").replaceChildren(...answer.notes.map((note) => element("li", {}, note)));
    byId("panel-table").replaceChildren(table(answer));
    this.open(answer.covers === "exact" ? "table" : "chart");
    byId("panel-chart").replaceChildren(chart(answer, byId("result").clientWidth - 34));
    byId("result-title").focus({ preventScroll: true });
    byId("result").scrollIntoView({ block: "nearest" });
  }

  open(name) {
    for (const tab of ["chart", "table"]) {
      const chosen = tab === name;
      byId(`tab-${tab}`).setAttribute("aria-selected", String(chosen));
      byId(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
      show(byId(`panel-${tab}`), chosen);
    }
  }

  arrow(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = byId("panel-chart").hidden ? "chart" : "table";
    this.open(other);
    byId(`tab-${other}`).focus();
  }

  download() {
    const file = new Blob([csv(this.answer)], { type: "text/csv" });
    const link = element("a", { href: URL.createObjectURL(file), download: "answer.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

function cost({ charge, cached, derived_from: derived, covers, confidence, rows }) {
  const size = `${number(rows.length, "int8")} ${rows.length === 1 ? "row" : "rows"}.`;
  if (covers === "exact") return `${size} Exact and free.`;
  const free = derived?.length ? "Free: it follows from answers that you have paid for." : "Free: you have paid for this answer.";
  const paid = cached && !charge.epsilon ? free : `Charged epsilon ${amount(charge.epsilon)}.`;
  const what = covers === "truth" ? "truth, if what was declared is true," : "noise";
  return `${size} ${paid} Intervals cover the ${what} at ${Math.round(confidence * 100)}%.`;
}

function table({ columns, rows, intervals, weak, cut }) {
  const head = element("tr", {}, columns.map(({ name, type }) => element("th", { scope: "col", class: isNumber(type) ? "number" : "" }, name)));
  const body = rows.slice(0, MOST_ROWS).map((row, place) => element(
    "tr", { class: weak[place] || cut[place] ? "weak" : "" },
    row.map((cell, index) => cellOf(cell, columns[index].type, intervals[place][index], index === 0 ? markOf(weak[place], cut[place]) : null)),
  ));
  const more = rows.length > MOST_ROWS ? element("caption", {}, `The first ${MOST_ROWS} rows; the CSV has all.`) : null;
  return element("table", {}, more, element("thead", {}, head), element("tbody", {}, body));
}

const MARKS = {
  weak: "The noise may be as large as the value: its interval is wider than the value",
  cut: "Its value may be cut to any part of the true one: the notes say why",
};

function markOf(weak, cut) {
  return weak ? "weak" : cut ? "cut" : null;
}

function cellOf(cell, type, interval, mark) {
  const words = cell === null ? "NULL" : isNumber(type) ? number(cell, type) : String(cell);
  return element(
    "td", { class: isNumber(type) ? "number" : "" }, words,
    mark ? element("span", { class: "chip", title: MARKS[mark] }, mark) : null,
    interval ? element("span", { class: "interval" }, range(interval)) : null,
  );
}

// As the API's own CSV: an interval beside each noisy value, and at the end the row's marks.
function csv({ columns, rows, intervals, weak, cut }) {
  const wide = columns.map((_, index) => intervals.some((row) => row[index] !== null));
  const marked = wide.some(Boolean);
  const names = columns.flatMap(({ name }, index) => (wide[index] ? [name, `${name}_lo`, `${name}_hi`] : [name]));
  const lines = rows.map((row, place) => row.flatMap((cell, index) => {
    const interval = intervals[place][index];
    return wide[index] ? [cell, interval?.low ?? null, interval?.high ?? null] : [cell];
  }).concat(marked ? [weak[place], cut[place]] : []));
  return [marked ? [...names, "weak", "cut"] : names, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// A cell that a spreadsheet would run as a formula is made text.
function quoted(cell) {
  if (cell === null || cell === undefined) return "";
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
