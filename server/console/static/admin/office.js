// What every room of the administrators' page needs: calls, problems, tables, and the reason of a change.

import { Problem, call } from "../common/api.js";
import { byId, element, show, tell, toast } from "../common/dom.js";
import { help } from "../common/glossary.js";

export const get = async (path) => (await call("GET", `/v1/admin${path}`)).body;
export const send = async (method, path, body) => (await call(method, `/v1/admin${path}`, body)).body;

// What a click does; a problem is told and nothing else changes.
export async function attempt(act, where = byId("problem")) {
  show(byId("toast"), false);   // of what was done before
  tell(null, where);
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell(error, where);
    where.scrollIntoView({ block: "nearest" });
  }
}

// A table that becomes a list of cards on narrow screens, so each cell has its column's name. A head is a name, or a
// name and a glossary term.
export function fill(id, heads, rows, numbers = []) {
  const classOf = (place) => (numbers.includes(place) ? "number" : null);
  const names = heads.map((head) => (typeof head === "string" ? head : head[0]));
  const head = element("thead", {}, element("tr", {}, heads.map((one, place) => element("th", { scope: "col", class: classOf(place) },
    names[place], typeof one === "string" ? null : [" ", help(one[1])]))));
  const cells = (row) => row.map((cell, place) => element("td", { "data-label": names[place], class: classOf(place) }, cell));
  const empty = [element("tr", {}, element("td", { colspan: heads.length }, "None yet."))];
  byId(id).replaceChildren(head, element("tbody", {}, rows.length ? rows.map((row) => element("tr", {}, cells(row))) : empty));
}

// Pages arrive in order; `each` receives every page, and the last rows are shown.
export async function newest(path, shown, more = "", each = () => {}) {
  let found = [];
  for (let after = 0; ;) {
    const page = await get(`${path}?limit=1000&after=${after}${more}`);
    page.forEach(each);
    found = [...found, ...page].slice(-shown);
    if (page.length < 1000) return found;
    after = page.at(-1).number;
  }
}

// Ask for the reason of a change, which the ledger records; null: cancelled.
// field: the name of another input; choices: its values, else any text; reason: the initial reason.
export function why(words, { field = null, value = "", choices = null, reason = "" } = {}) {
  const dialog = byId("why");
  const [entry, other] = choices ? [byId("why-choice"), byId("why-field")] : [byId("why-field"), byId("why-choice")];
  byId("why-words").textContent = words;
  show(other.parentElement, false);
  show(entry.parentElement, Boolean(field));
  entry.previousSibling.textContent = `${field ?? ""} `;
  if (choices) entry.replaceChildren(...choices.map((one) => element("option", {}, one)));
  entry.value = value;
  byId("why-reason").value = reason;
  byId("why-cancel").onclick = () => dialog.close();
  dialog.returnValue = "";   // Escape leaves what the dialog before it returned
  dialog.showModal();
  (field ? entry : byId("why-reason")).focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    resolve(dialog.returnValue === "do" ? { reason: byId("why-reason").value, value: entry.value.trim() } : null);
  }, { once: true }));
}

// Handle a form. The text that `act` returns is shown afterwards; null: nothing was done.
export function submitted(id, act, done) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    const entered = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value !== ""));
    attempt(async () => {
      const said = await act(entered, event.submitter?.value);
      if (said === null) return;
      event.target.reset();
      await done();
      if (said) toast(said);
    });
  });
}
