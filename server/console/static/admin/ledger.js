// The ledger: does it hold, which is its head, does a head that was noted elsewhere stand in it, and files of it.

import { fetched } from "../common/api.js";
import { byId, copy, element, quiet, save, show } from "../common/dom.js";
import { attempt, get, send } from "./office.js";

const PAGE = 1000;

async function verify() {
  const told = byId("verified");
  told.className = "";
  told.textContent = "Walking…";
  const { entries, head, fault } = await send("POST", "/ledger/verify");
  told.className = fault ? "bad" : "";
  told.replaceChildren(fault ? `${fault} (the ${entries} entries before it hold)` : `All ${entries} entries hold. The last hash is `,
    ...(fault ? [] : [element("code", {}, head), ". Note it elsewhere: it proves everything before it.", quiet("Copy it", () => copy(head, "The head"))]));
  const noted = byId("noted-head").value.trim().toLowerCase();
  if (noted && !fault) told.append(element("p", {}, await standing(noted, entries)));
}

// The chain holds, so the entry that has this hash has all before it as they were when it was noted.
async function standing(noted, entries) {
  for (let after = 0; after < entries;) {
    const page = await get(`/entries?limit=${PAGE}&after=${after}`);
    const found = page.find(({ hash }) => hash === noted);
    if (found) return `The head that you noted is that of entry ${found.number}: everything up to it is as it was.`;
    if (page.length < PAGE) break;
    after = page.at(-1).number;
  }
  return "No entry has the head that you noted: this is not the ledger that it was noted of, or entries are gone.";
}

const download = (form, name, type) => attempt(async () => save(await fetched("GET", `/v1/admin/ledger/export?format=${form}`), name, type));

export function openLedger() {
  byId("verify").addEventListener("click", () => attempt(verify));
  byId("export-csv").addEventListener("click", () => download("csv", "charges.csv", "text/csv"));
  byId("export-json").addEventListener("click", () => download("json", "ledger.jsonl", "application/jsonl"));
  show(byId("verified"), true);
}
