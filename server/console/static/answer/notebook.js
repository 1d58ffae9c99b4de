// The answers of this tab with their questions, newest first, until they are closed. The newest is open, earlier ones are
// folded. A reloaded page has the questions and opens paid answers free.

import { byId, element, show } from "../common/dom.js";
import { coloured } from "../question/tokens.js";
import { when } from "../common/format.js";
import { titleOf } from "./answer.js";

const STORE = "noisegate.notebook";
const MOST = 30;

export class Notebook {
  constructor(root, reopen) {
    Object.assign(this, { root, reopen, cells: [] });
    new ResizeObserver(() => this.cells.forEach(({ answer }) => answer?.draw())).observe(root);
  }

  // The questions that this tab had answers to.
  restore() {
    const kept = JSON.parse(sessionStorage.getItem(STORE) ?? "[]");
    for (const { question, at } of kept.reverse()) this.place({ question, at, node: this.stub(question, at) });
    show(byId("no-answers"), !this.cells.length);
  }

  stub(question, at) {
    const node = element("article", { class: "answer card stub" },
      element("div", { class: "answer-head" }, element("h2", {}, titleOf(question.sql)),
        element("button", { type: "button", class: "quiet", onclick: () => this.reopen(question, node) }, "Open again, free")),
      element("p", { class: "hint" }, `Answered ${when(at)}. `), element("details", {}, element("summary", {}, "Question"), element("pre", { class: "sql" }, coloured(question.sql))));
    return node;
  }

  add(answer) {
    for (const cell of this.cells) cell.fold?.(true);
    const fold = (folded) => {
      show(answer.body, !folded);
      answer.root.classList.toggle("folded", folded);
      toggle.setAttribute("aria-expanded", String(!folded));
      toggle.setAttribute("aria-label", folded ? "Unfold this answer" : "Fold this answer");
      toggle.textContent = folded ? "▸" : "▾";
      if (!folded) answer.draw();
    };
    const toggle = element("button", { type: "button", class: "quiet fold", onclick: () => fold(toggle.getAttribute("aria-expanded") === "true") });
    answer.root.querySelector(".answer-head").prepend(toggle);
    this.place({ question: answer.question, at: answer.at, node: answer.root, answer, fold });
    fold(false);
    this.remember();
  }

  place(cell) {
    this.cells.unshift(cell);
    this.root.prepend(cell.node);
    for (const old of this.cells.splice(MOST)) old.node.remove();
  }

  remove(node) {
    this.cells = this.cells.filter((cell) => cell.node !== node);
    node.remove();
    this.remember();
  }

  get newest() {
    return this.cells[0]?.answer ?? null;
  }

  // The newest answer is the one that people take for that of the editor.
  compare(question) {
    for (const { answer } of this.cells) answer?.compare?.(question);
  }

  remember() {
    show(byId("no-answers"), !this.cells.length);
    sessionStorage.setItem(STORE, JSON.stringify(this.cells.map(({ question, at }) => ({ question, at })).filter(({ question }) => question.sql)));
  }
}
