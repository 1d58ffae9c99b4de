// Questions saved by name in this browser, encrypted with the key and available after the next sign-in.

import { byId, element, quiet, toast } from "../common/dom.js";

const NAME_LENGTH = 80;

export class Saved {
  constructor(open) {
    Object.assign(this, { open, vault: null, questions: {} });
    byId("save").addEventListener("submit", () => this.submitted());
    byId("save-cancel").addEventListener("click", () => byId("save-dialog").close());
  }

  async use(vault) {
    this.vault = vault;
    this.questions = await vault.get("saved", {});
    this.draw();
  }

  // Asks for a name; the question is the one that stands in the editor.
  begin(question) {
    if (!question.sql.trim()) return toast("There is no question to save yet.");
    this.pending = question;
    const field = byId("save-name");
    field.value = Object.entries(this.questions).find(([, { sql }]) => sql === question.sql)?.[0] ?? "";
    byId("save-dialog").showModal();
    field.focus();
  }

  async submitted() {
    const name = byId("save-name").value.trim().slice(0, NAME_LENGTH);
    if (!name) return;
    await this.keep({ ...this.questions, [name]: this.pending });
    toast(`Saved as ${name}.`);
  }

  async keep(questions) {
    this.questions = questions;
    await this.vault.set("saved", questions);
    this.draw();
  }

  draw() {
    const names = Object.keys(this.questions).sort((one, other) => one.localeCompare(other));
    byId("saved").replaceChildren(...(names.length ? names.map((name) => this.item(name)) : [
      element("li", { class: "hint" }, "None yet. Save stores the question or the dashboard that you see in this browser, encrypted with your key."),
    ]));
  }

  item(name) {
    const { [name]: question, ...others } = this.questions;
    return element("li", { class: "row" },
      element("button", { type: "button", title: question.sql, onclick: () => this.open(question) }, name),
      quiet("×", () => this.keep(others), { "aria-label": `Forget ${name}`, title: "Forget it" }));
  }
}
