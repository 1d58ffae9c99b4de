// An answer with its question, price, time and data version, as chart, table and download.

import { Problem } from "../common/api.js";
import { chart, drawable, pictured } from "../charts/chart.js";
import { copy, element, menu, quiet, save, show, toast } from "../common/dom.js";
import { amount, percent, small, several, when } from "../common/format.js";
import { help } from "../common/glossary.js";
import { LINKED, linkTo } from "../question/share.js";
import { coloured, normal } from "../question/tokens.js";
import { asCurl, asPsql, asPython } from "./copies.js";
import { arrow, csv, savePng, saveSvg } from "./files.js";
import { legend } from "./marks.js";
import { table } from "./table.js";

const TITLE_LENGTH = 90;
const TIED = "order"; // a note of the order of rows, which is no footnote to it
let serial = 0;

export class Answer {
  // context: {question, at, me: who asked, under which policy, of which version; before: the same when it was asked}.
  // acts: {edit, again, anew, close}, any of which may be missing.
  constructor(answer, context, acts = {}) {
    Object.assign(this, { answer, ...context, acts, id: `answer-${(serial += 1)}`, drawn: false });
    this.root = element("article", { class: "answer card", "aria-labelledby": `${this.id}-title` });
    this.stale = element("p", { class: "stale", hidden: true }, "The question in the editor is another one by now. This is the answer to the question above it here.");
    this.panels = { chart: this.panel("chart"), table: this.panel("table") };
    this.tabs = Object.fromEntries(Object.keys(this.panels).map((name) => [name, this.tab(name)]));
    const tablist = element("div", { role: "tablist", "aria-label": "Show as" }, Object.values(this.tabs));
    tablist.addEventListener("keydown", (event) => this.arrow(event));
    this.title = element("h2", { id: `${this.id}-title`, tabindex: "-1" }, coloured(normal(this.question.sql)));
    const isTied = (_, place) => answer.detail_kinds[place] === TIED;
    const marks = legend(answer), tied = answer.details.filter(isTied), notes = answer.details.filter((...each) => !isTied(...each));
    this.body = element("div", { class: "answer-body" },
      this.stale, this.facts(),
      element("div", { class: "toolbar" }, tablist, this.takeAlong(), this.copies(), this.more()),
      ...Object.values(this.panels), marks ?? (answer.note ? element("p", { class: "hint" }, answer.note) : null), ...tied.map((note) => element("p", { class: "hint" }, note)),
      notes.length ? element("details", { class: "notes" }, element("summary", {}, several(notes.length, "detail")),
        element("ul", { class: "hint" }, notes.map((note) => element("li", {}, note)))) : null);
    this.root.append(element("div", { class: "answer-head" }, this.title, this.closing()), this.body);
    this.panels.table.append(table(answer));
    this.open(answer.covers === "exact" || answer.rows.length === 0 || !drawable(answer) ? "table" : "chart");
  }

  panel(name) {
    return element("div", { role: "tabpanel", id: `${this.id}-${name}`, class: `panel-${name}`, "aria-labelledby": `${this.id}-tab-${name}`, tabindex: "0" });
  }

  tab(name) {
    return element("button", { type: "button", role: "tab", id: `${this.id}-tab-${name}`, "aria-controls": `${this.id}-${name}`, onclick: () => this.open(name) },
      name === "chart" ? "Chart" : "Table");
  }

  // Once it stands in the page, and has a width.
  draw() {
    if (this.drawn || this.panels.chart.hidden || this.body.hidden) return;
    const width = this.panels.chart.clientWidth;
    if (!width) return;
    this.drawn = true;
    this.panels.chart.replaceChildren(chart(this.answer, width, { ordered: /\border\s+by\b/i.test(this.question.sql) }));
  }

  open(name) {
    for (const [each, tab] of Object.entries(this.tabs)) {
      const chosen = each === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      show(this.panels[each], chosen);
    }
    this.draw();
  }

  arrow(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = this.panels.chart.hidden ? "chart" : "table";
    this.open(other);
    this.tabs[other].focus();
  }

  // Grey, where the editor asks something else by now.
  compare(question) {
    const other = normal(question.sql) !== normal(this.question.sql);
    this.root.classList.toggle("other", other);
    show(this.stale, other);
  }

  facts() {
    const { answer, question, at, me, before } = this;
    const version = !me ? null : before && before.data_version !== me.data_version ? `data ${before.data_version} or ${me.data_version}` : `data ${me.data_version}`;
    const policy = me ? element("span", { title: `The policy in force, ${me.policy_hash}` }, `policy ${me.policy_hash.slice(0, 8)}`) : null;
    const parts = [
      answer.practice ? element("strong", {}, "practice: made-up rows") : null, several(answer.rows.length, "row"), paid(answer), asked(question, answer), policy,
      version && element("span", { title: "The data version, which grows with all new data" }, version), when(at), covers(answer),
      this.charges?.length ? element("span", { title: "The number in the ledger, by which an administrator finds the charge" }, `${this.charges.length > 1 ? "charges" : "charge"} ${this.charges.join(", ")}`) : null,
      answer.request_id ? quiet(`request ${answer.request_id.slice(0, 8)}`, () => copy(answer.request_id, "The request’s id"), { class: "quiet tiny", title: `Copy ${answer.request_id}` }) : null,
    ].filter(Boolean).map((part) => element("li", {}, part));
    return element("ul", { class: "provenance" }, parts);
  }

  // Who asked, as the proxy says it after the answer: were the data new meanwhile, it was of one version or the other. And
  // under which charges it stands in the ledger.
  settled(me, history = null) {
    if (!this.me) return;
    this.me = me;
    this.charges = history?.numbersOf(this.answer, this.question) ?? [];
    this.body.querySelector(".provenance").replaceWith(this.facts());
  }

  takeAlong() {
    const pictures = () => [...this.panels.chart.querySelectorAll("svg[role=img]")];
    const drawn = (act) => () => {
      this.open("chart");
      return pictures().length ? act(pictures()) : toast("There is no picture of it.");
    };
    return menu("Download", [
      quiet("CSV", () => save(csv(this.answer), "answer.csv", "text/csv")),
      quiet("Arrow", () => arrow(this.question).catch(told)),
      ...(pictured(this.answer) ? [quiet("PNG", drawn(savePng)), quiet("SVG", drawn(saveSvg))] : []),
    ]);
  }

  copies() {
    const { question, me } = this;
    const at = { ...question, epsilon: question.epsilon ?? this.answer.charge.epsilon };
    return menu("Copy", [
      quiet("Link for colleagues", () => copy(linkTo(question), "The link", LINKED)),
      quiet("SQL", () => copy(question.sql, "SQL")),
      quiet("curl", () => copy(asCurl(at), "curl")),
      quiet("Python", () => copy(asPython(at), "Python")),
      ...(me ? [quiet("psql", () => copy(asPsql(at, me), "psql"))] : []),
    ]);
  }

  more() {
    const { edit, again, anew, collect } = this.acts;
    return element("span", { class: "acts" },
      again ? quiet("Again, free", () => again(this), { title: "Open what you have paid for; nothing is charged" }) : null,
      anew && this.question.epsilon ? quiet("Measure again", () => anew(this.question), { title: `Another measurement, for epsilon ${this.question.epsilon}, whatever you have paid for` }) : null,
      collect ? quiet("Add to a dashboard", () => collect(this.question), { title: "Put the question beside those in the editor: several are asked together, with one epsilon" }) : null,
      edit ? quiet("Edit", () => edit(this.question), { title: "Put the question into the editor" }) : null);
  }

  closing() {
    const { close } = this.acts;
    return close ? quiet("×", () => close(this), { "aria-label": "Close this answer", title: "Close; it stays in the history" }) : null;
  }
}

function told(error) {
  if (!(error instanceof Problem)) throw error;
  toast([error.message, error.hint].filter(Boolean).join(" "));
}

// A question in one line.
export function titleOf(sql) {
  const line = normal(sql);
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH).trimEnd()}…` : line;
}

function paid({ charge, cached, derived_from: derived, covers }) {
  if (covers === "exact" && !charge.epsilon) return "Exact and free";
  if (charge.epsilon || !cached) return `Charged epsilon ${amount(charge.epsilon)}${charge.delta ? `, delta ${small(charge.delta)}` : ""}`;
  return derived?.length ? "Free: it is derived from answers that you have paid for" : "Free: you have paid for this answer";
}

function asked({ epsilon, max_relative_error: within }, answer) {
  const { charge } = answer;
  if (within) return `asked to be right within ${amount(100 * within)}%${outcome(answer, within)}`;
  return epsilon && charge.epsilon !== epsilon ? `asked at epsilon ${amount(epsilon)}` : null;
}

// Whether an accuracy target was reached. Clipped rows do not count.
export function outcome(answer, within) {
  const { rows, intervals, raw, clipped } = answer;
  if (answer.covers === "exact") return "";
  const errors = rows.flatMap((row, place) => (clipped[place] ? [] : row.flatMap((cell, index) => {
    const around = intervals[place][index], value = raw?.[place]?.[index] ?? cell;
    if (!around || typeof value !== "number") return [];
    return around.low === null || around.high === null || !value ? [Infinity] : [Math.max(around.high - value, value - around.low) / Math.abs(value)];
  })));
  const lost = clipped.filter(Boolean).length;
  if (lost && !errors.length) return ": not known, every row is marked clipped";
  const worst = Math.max(0, ...errors);
  const said = worst <= within * 1.0001 ? ": reached" : `: missed, ${Number.isFinite(worst) ? `${percent(worst)} in the worst row` : "a value is nothing"}`;
  return lost ? `${said}; ${several(lost, "row")} marked clipped ${lost === 1 ? "does" : "do"} not count` : said;
}

function covers({ covers: what, confidence }) {
  if (what === "exact") return null;
  return element("span", {}, `intervals cover the ${what} at ${Math.round(confidence * 100)}%`, help("interval"));
}
