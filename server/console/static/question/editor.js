// A text area over a coloured copy of itself, with completions and a mark at a problem.

import { element, show } from "../common/dom.js";
import { completions } from "./completion.js";
import { tokens } from "./tokens.js";

const [LEAST_ROWS, MOST_ROWS] = [4, 14];

export class Editor extends EventTarget {
  constructor(area, copy, list) {
    super();
    Object.assign(this, { area, copy, list, tables: [], problem: null, chosen: 0 });
    area.addEventListener("input", () => this.changed());
    area.addEventListener("keydown", (event) => this.pressed(event));
    area.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    area.addEventListener("scroll", () => { copy.scrollTop = area.scrollTop; });
    this.paint();
  }

  get sql() { return this.area.value; }

  set sql(text) {
    this.area.value = text;
    this.changed(false);
  }

  // Where there is a keyboard already: on a telephone one would rise over what the question costs.
  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.area.focus();
  }

  // The tables whose names and columns complete themselves.
  complete(tables) {
    this.tables = tables;
  }

  // Mark the word at a 1-based position, or nothing.
  mark(position) {
    this.problem = position;
    this.paint();
  }

  reveal(position) {
    const found = tokens(this.sql).find((token) => token.start + token.text.length >= position);
    this.area.focus();
    this.area.setSelectionRange(position - 1, found ? found.start + found.text.length : position);
  }

  // Another word instead of the marked one.
  fix(position, text) {
    const found = tokens(this.sql).find((token) => token.start + token.text.length >= position);
    this.area.setRangeText(text, position - 1, found ? found.start + found.text.length : position - 1, "end");
    this.area.focus();
    this.changed(false);
  }

  insert(text) {
    const { selectionStart: start, selectionEnd: end } = this.area;
    const before = this.sql.slice(0, start);
    const gap = before && !/[\s(.]$/.test(before) ? " " : "";
    this.area.setRangeText(gap + text, start, end, "end");
    this.area.focus();
    this.changed(false);
  }

  changed(offer = true) {
    this.problem = null;
    this.paint();
    if (offer) this.offer(false);
    this.dispatchEvent(new Event("change"));
  }

  paint() {
    const at = this.problem;
    const pieces = tokens(this.sql).map(({ text, kind, start }) => {
      const marked = at !== null && start < at && at <= start + text.length;
      const classes = [kind && `tok-${kind}`, marked && "tok-problem"].filter(Boolean).join(" ");
      return classes ? element("span", { class: classes }, text) : text;
    });
    const beyond = at !== null && at > this.sql.length ? [element("span", { class: "tok-problem" }, " ")] : [];
    this.copy.replaceChildren(...pieces, ...beyond, "\n");
    this.area.rows = Math.min(MOST_ROWS, Math.max(LEAST_ROWS, this.sql.split("\n").length));
    while (this.area.rows < MOST_ROWS && this.area.scrollHeight > this.area.clientHeight) this.area.rows += 1; // lines that wrap
    this.copy.scrollTop = this.area.scrollTop;
  }

  offer(always) {
    const { found, after } = completions(this.sql, this.area.selectionStart, this.tables);
    if (!found.length || (!always && after.length < 2 && !this.afterDot())) return this.close();
    this.chosen = 0;
    this.list.replaceChildren(...found.map(({ text, type }, index) => element(
      "li",
      { role: "option", id: `completion-${index}`, "aria-selected": String(index === 0),
        onmousedown: (event) => { event.preventDefault(); this.take(text); } },
      element("span", {}, text), element("span", { class: "type" }, type),
    )));
    show(this.list, true);
    this.place();
    this.area.setAttribute("aria-activedescendant", "completion-0");
  }

  afterDot() {
    return /\.\w*$/.test(this.sql.slice(0, this.area.selectionStart));
  }

  place() {
    const before = this.sql.slice(0, this.area.selectionStart).split("\n");
    const line = Number.parseFloat(getComputedStyle(this.area).lineHeight);
    const top = Math.min(before.length * line + 10 - this.area.scrollTop, this.area.clientHeight);
    const left = Math.min(before.at(-1).length * line * 0.38, this.area.clientWidth - 210);
    this.list.style.top = `${top}px`;
    this.list.style.left = `${Math.max(0, left)}px`;
  }

  move(step) {
    const options = [...this.list.children];
    this.chosen = (this.chosen + step + options.length) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === this.chosen)));
    options[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
  }

  take(text) {
    const { after } = completions(this.sql, this.area.selectionStart, this.tables);
    const end = this.area.selectionStart;
    this.area.setRangeText(text, end - after.length, end, "end");
    this.close();
    this.changed(false);
  }

  close() {
    show(this.list, false);
    this.area.removeAttribute("aria-activedescendant");
  }

  pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.close();
      this.dispatchEvent(new Event("run"));
    } else if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.offer(true);
    } else if (!this.list.hidden) {
      if (event.key === "ArrowDown") { event.preventDefault(); this.move(1); }
      else if (event.key === "ArrowUp") { event.preventDefault(); this.move(-1); }
      else if (event.key === "Escape") this.close();
      else if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        this.take(this.list.children[this.chosen].firstChild.textContent);
      }
    }
  }
}
