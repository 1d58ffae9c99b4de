// The administrators' page: budgets, analysts, charges, acts, policy, ledger; each role sees what it may do.

import { Problem, key, refused } from "../common/api.js";
import { byId, show, tell } from "../common/dom.js";
import { explainWords } from "../common/glossary.js";
import { signOut } from "../common/vault.js";
import { drawAccounts, grantOf, grantedWords } from "./accounts.js";
import { Analysts, analystOf, reveal } from "./analysts.js";
import { Spending, Weeks, drawCharges } from "./charges.js";
import { openLedger } from "./ledger.js";
import { drawLog } from "./log.js";
import { get, newest, send, submitted, why } from "./office.js";
import { drawChanges, drawPolicy, reload } from "./policy.js";

const SHOWN = 500;
const analysts = new Analysts(load);

async function load() {
  const weeks = new Weeks();
  const spending = new Spending();
  const each = (charge) => { weeks.add(charge); spending.add(charge); };
  const [holder, accounts, holders, charges, acts, dataset, schema, changed] = await Promise.all([
    get("/holder"), get("/accounts"), get("/analysts"), newest("/charges", SHOWN, "", each),
    newest("/entries", SHOWN, "&acts_only=true"), get("/dataset"), get("/schema"), get("/policy/changes"),
  ]);
  const changes = holder.role === "admin";
  for (const form of ["grant", "grant-help", "add", "dataset-acts"]) show(byId(form), changes);
  show(byId("sees-only"), !changes);
  byId("holder").textContent = `${holder.name}, ${holder.role}`;
  byId("dataset").textContent = `${schema.dataset} administration`;
  drawAccounts(accounts, spending);
  analysts.draw(holders, changes);
  const period = byId("period");
  weeks.draw(period.value);
  period.onchange = () => weeks.draw(period.value);
  drawCharges(charges, dataset.keeps_questions);
  drawLog(acts);
  drawPolicy(dataset, schema, acts);
  drawChanges(changed);
}

async function open() {
  await load();
  show(byId("welcome"), false);
  show(byId("office"), true);
  show(byId("session"), true);
  show(byId("rooms"), true);
}

submitted("grant", async (fields, act) => grantedWords(await send(...grantOf(fields, act))), load);
submitted("add", async (fields) => {
  reveal(await send("POST", "/analysts", analystOf(fields)));
  return `Done: ${fields.name} is added. The key stands above, this once.`;
}, load);
submitted("dataset-acts", ({ reason }, act) => (act === "bump" ? bump(reason) : reload(reason, load)), load);
async function bump(entered) {
  const said = await why("Is there new data in the database? Earlier answers are then not given again: every question is measured again, and charged.", { reason: entered });
  if (!said) return null;
  const { reason } = said;
  const { data_version: version } = await send("POST", "/data/bump", { reason });
  return `Done: the data is version ${version}. Questions with cached answers are measured again, and charged.`;
}

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
    tell(refused(error), byId("sign-in-problem"));
    show(byId("to-console"), error.status === 403);
  }
});
byId("sign-out").addEventListener("click", () => signOut());
byId("sign-in-button").disabled = false; // before this line the browser itself would have sent the form, and the key in it
if (key.get()) open().catch(() => undefined);
