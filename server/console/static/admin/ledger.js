// The ledger: verify it, compare it with a noted head, export it.

import { fetched } from "../common/api.js";
import { byId, copy, element, quiet, save, show } from "../common/dom.js";
import { attempt, get, send } from "./office.js";

const PAGE = 1000;

async function verify() {
  const shown = byId("verified");
  shown.className = "";
  shown.textContent = "Verifying…";
  const { entries, head, fault } = await send("POST", "/ledger/verify");
  const noted = byId("noted-head").value.trim().toLowerCase();
  const [stands, said] = noted ? await standing(noted, entries) : [true, null];
  shown.className = fault || !stands ? "bad" : "";
  // Show first whether the noted hash is in this ledger: a replaced ledger can be valid as well.
  shown.replaceChildren(...(said ? [element("strong", {}, said), " "] : []), fault ? `${fault} (the ${entries} entries before it are valid)` : `All ${entries} entries are valid. The last hash is `,
    ...(fault ? [] : [element("code", {}, head), ". Write it down elsewhere: it proves all entries before it.", quiet("Copy it", () => copy(head, "The head"))]));
}

// In a valid chain the entry with the noted hash proves all entries before it.
async function standing(noted, entries) {
  for (let after = 0; after < entries;) {
    const page = await get(`/entries?limit=${PAGE}&after=${after}`);
    const found = page.find(({ hash }) => hash === noted);
    if (found) return [true, `The head that you noted is that of entry ${found.number}: everything up to it is as it was.`];
    if (page.length < PAGE) break;
    after = page.at(-1).number;
  }
  return [false, "No entry has the head that you noted: this is not the ledger that it was noted of, or entries are gone. Restore the newest copy that has it."];
}

const download = (form, name, type) => attempt(async () => save(await fetched("GET", `/v1/admin/ledger/export?format=${form}`), name, type));

export function openLedger() {
  byId("verify").addEventListener("click", () => attempt(verify));
  byId("export-csv").addEventListener("click", () => download("csv", "charges.csv", "text/csv"));
  byId("export-json").addEventListener("click", () => download("json", "ledger.jsonl", "application/jsonl"));
  show(byId("verified"), true);
}
