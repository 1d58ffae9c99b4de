// The custodians' page: budgets, analysts, charges, acts, policy, ledger; each role sees what it may do.

import { Problem, UNKNOWN_KEY, key } from "../common/api.js";
import { byId, show, tell } from "../common/dom.js";
import { explainWords } from "../common/glossary.js";
import { signOut } from "../common/vault.js";
import { drawAccounts, grantOf } from "./accounts.js";
import { Analysts, analystOf, reveal } from "./analysts.js";
import { Weeks, drawCharges } from "./charges.js";
import { openLedger } from "./ledger.js";
import { drawLog } from "./log.js";
import { get, newest, send, submitted } from "./office.js";
import { drawPolicy, reload } from "./policy.js";

const SHOWN = 500;
const analysts = new Analysts(load);

async function load() {
  const weeks = new Weeks();
  const [holder, accounts, holders, charges, acts, dataset, schema] = await Promise.all([
    get("/holder"), get("/accounts"), get("/analysts"), newest("/charges", SHOWN, "", (charge) => weeks.add(charge)),
    newest("/entries", SHOWN, "&acts_only=true"), get("/dataset"), get("/schema"),
  ]);
  const changes = holder.role === "admin";
  for (const form of ["grant", "add", "dataset-acts"]) show(byId(form), changes);
  show(byId("sees-only"), !changes);
  byId("holder").textContent = `${holder.name}, ${holder.role}`;
  byId("dataset").textContent = `${schema.dataset} administration`;
  drawAccounts(accounts, charges);
  analysts.draw(holders, changes);
  weeks.draw();
  drawCharges(charges);
  drawLog(acts);
  drawPolicy(dataset, schema, acts);
}

async function open() {
  await load();
  show(byId("welcome"), false);
  show(byId("office"), true);
  show(byId("session"), true);
  show(byId("rooms"), true);
}

submitted("grant", (fields, act) => send(...grantOf(fields, act)), load);
submitted("add", async (fields) => reveal(await send("POST", "/analysts", analystOf(fields))), load);
submitted("dataset-acts", ({ reason }, act) => (act === "bump" ? send("POST", "/data/bump", { reason }) : reload(reason, load)), load);
openLedger();
explainWords();

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  try {
    await open();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    key.clear();
    tell(error.status === 401 ? UNKNOWN_KEY : error, byId("sign-in-problem"));
    show(byId("to-console"), error.status === 403);
  }
});
byId("sign-out").addEventListener("click", () => signOut());
if (key.get()) open().catch(() => undefined);
