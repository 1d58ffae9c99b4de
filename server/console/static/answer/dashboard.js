// Several questions with one budget: expected errors before, answers side by side afterwards, refreshed free.

import { byId, element, quiet, show } from "../common/dom.js";
import { about, amount } from "../common/format.js";
import { coloured } from "../question/tokens.js";
import { Answer } from "./answer.js";

// Their total cost, below the editor.
export class Together {
  hide() {
    show(byId("together"), false);
  }

  explain({ summary, charge }, asked) {
    const cost = charge.epsilon ? `Epsilon ${amount(charge.epsilon)} for all of them.` : "Free.";
    byId("together-words").textContent = `${cost} ${worded(summary.strategy, asked)}`;
    byId("together-answers").replaceChildren(...asked.map(({ text }, place) => element("li", {},
      element("code", {}, coloured(text)), element("p", { class: "hint" }, isPaid(summary, place) ? "free: you have paid for it" : said(summary.queries[place], text)))));
    show(byId("together"), true);
  }
}

// A dashboard in the notebook.
export class Dashboard {
  constructor({ summary, charge, answers }, { asked, question, at, me, before }, acts) {
    Object.assign(this, { question, at });
    const cost = charge.epsilon ? `Charged epsilon ${amount(charge.epsilon)} for all of them.` : "Free: you have paid for these answers.";
    const how = charge.epsilon ? worded(summary.strategy, asked) : "";
    this.cards = answers.map((answer, place) => new Answer(
      answer, { question: { ...question, sql: asked[place].text, epsilon: answer.charge.epsilon || question.epsilon }, at, me, before }, { edit: acts.edit },
    ));
    for (const [place, card] of this.cards.entries()) card.body.append(element("p", { class: "hint" }, isPaid(summary, place) ? "free: you have paid for it" : said(summary.queries[place], asked[place].text)));
    this.stale = element("p", { class: "stale", hidden: true }, "The questions in the editor are others by now. These are the answers to those that stand here.");
    this.body = element("div", { class: "answer-body" }, this.stale,
      element("p", { class: "together-said" }, `${cost} ${how}`), element("div", { class: "board" }, this.cards.map(({ root }) => root)));
    this.root = element("article", { class: "answer card dashboard" },
      element("div", { class: "answer-head" }, element("h2", { tabindex: "-1" }, `Dashboard of ${answers.length} questions`),
        quiet("Refresh, free", () => acts.again(this), { title: "Ask them again: free until the data are new" }),
        quiet("Edit", () => acts.edit(question)), quiet("×", () => acts.close(this), { "aria-label": "Close these answers" })), this.body);
  }

  get title() {
    return this.root.querySelector("h2");
  }

  draw() {
    for (const card of this.cards) card.draw();
  }

  settled(me, history) {
    for (const card of this.cards) card.settled(me, history);
  }

  compare({ sql }) {
    const other = sql.trim() !== this.question.sql.trim();
    this.root.classList.toggle("other", other);
    show(this.stale, other);
  }
}

// The proxy names keys with its own aliases, "customer_0"."c_acctbal"; this shows the question's c_acctbal or c.c_acctbal.
export function worded(note, asked) {
  const sql = asked.map(({ text }) => text).join("\n");
  return note.replace(/"([^"]+)"\."([^"]+)"/g, (_, table, column) => {
    const name = /^[a-z_][a-z0-9_]*$/.test(column) ? column : `"${column}"`;
    const written = new RegExp(String.raw`\b([A-Za-z_]\w*\.)${column.replace(/[^\w]/g, "\\$&")}\b`).exec(sql);
    return written ? written[0] : name;
  }).replace(/"([a-z_][a-z0-9_]*)_\d+"(?!\.)/g, "$1");
}

// The answers that it is derived from are not charged.
function isPaid({ measured }, place) {
  const own = measured.filter(({ queries }) => queries.includes(place + 1));
  return own.length > 0 && own.every(({ charged }) => !charged);
}

// Settings without a field on the page.
const NO_FIELD = /; at_most .*$/;

function said({ how, half_width: half, half_width_alone: alone, why }, text) {
  if (how === "free") return "free: it is derived from answers that you have paid for, or reads public tables";
  const within = half === null ? "" : `, within ${about(half)}`;
  const gain = how === "together" && alone !== null ? `; alone it would be ${about(alone)}` : "";
  return `${how === "together" ? "estimated with others" : "asked alone"}${within}${gain}${why ? `: ${worded(why, [{ text }]).replace(NO_FIELD, "")}` : ""}`;
}

