// The custodians' page: budgets, analysts, charges, acts, policy, ledger.

import { Problem, call, key, signOut } from "./api.js";
import { panel } from "./charts/burndown.js";
import { byId, element, show } from "./dom.js";
import { amount, small } from "./format.js";

const SHOWN = 500;
const get = async (path) => (await call("GET", `/v1/admin${path}`)).body;
const send = async (method, path, body) => (await call(method, `/v1/admin${path}`, body)).body;
const when = (ms) => new Date(ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });

function tell(problem, where = byId("problem")) {
  show(where, Boolean(problem));
  where.textContent = problem ? [problem.message, problem.hint].filter(Boolean).join("\n") : "";
  if (problem) where.scrollIntoView({ block: "nearest" });
}

// What a click does; a problem is told and nothing else changes.
async function attempt(act, where) {
  tell(null, where);
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell(error, where);
  }
}

function fill(id, heads, rows) {
  const table = byId(id);
  const head = element("thead", {}, element("tr", {}, heads.map((name) => element("th", { scope: "col" }, name))));
  const cells = (row) => row.map((cell) => element("td", {}, cell));
  const empty = [element("tr", {}, element("td", { colspan: heads.length }, "None yet."))];
  table.replaceChildren(head, element("tbody", {}, rows.length ? rows.map((row) => element("tr", {}, cells(row))) : empty));
}

async function load() {
  const [holder, accounts, analysts, charges, acts, dataset] = await Promise.all([
    get("/holder"), get("/accounts"), get("/analysts"), newest("/charges"), newest("/entries", "&acts_only=true"), get("/dataset"),
  ]);
  const changes = holder.role === "admin";
  for (const form of ["grant", "add", "dataset-acts"]) show(byId(form), changes);
  byId("accounts").querySelector(".panels").replaceChildren(
    ...accounts.map((account) => panel(account, charges.filter((charge) => charge.accounts.includes(account.account)))),
  );
  byId("account-names").replaceChildren(...accounts.map(({ account }) => element("option", { value: account })));
  drawAnalysts(analysts, changes);
  fill("charges", ["Number", "When", "Analyst", "Epsilon", "Delta", "State", "Mechanism", "Request"], charges.toReversed().map((charge) => [
    String(charge.number), when(charge.reserved_at_ms), charge.analyst, amount(charge.epsilon), small(charge.delta),
    charge.state, charge.mechanism, element("code", {}, charge.request_id.slice(0, 8)),
  ]));
  fill("acts", ["Entry", "When", "What", "By", "Why", "Details"], acts.toReversed().map(({ number, at_ms: at, kind, content }) => {
    const { by = "", reason = "", ...details } = content;
    return [String(number), when(at), kind, String(by), String(reason), element("code", {}, JSON.stringify(details))];
  }));
  byId("policy").replaceChildren(
    element("dt", {}, "Policy in force"), element("dd", {}, element("code", {}, dataset.policy_hash)),
    ...(dataset.accepted_policy_hash === dataset.policy_hash ? [] : [
      element("dt", {}, "Accepted, not in force yet"),
      element("dd", {}, element("code", {}, dataset.accepted_policy_hash ?? "none"), " (a reload takes it over)"),
    ]),
    element("dt", {}, "Data version"), element("dd", {}, String(dataset.data_version)),
  );
}

// Pages come in order; the last one is what people look at.
async function newest(path, more = "") {
  let found = [];
  for (let after = 0; ;) {
    const page = await get(`${path}?limit=1000&after=${after}${more}`);
    found = [...found, ...page].slice(-SHOWN);
    if (page.length < 1000) return found;
    after = page.at(-1).number;
  }
}

function drawAnalysts(analysts, changes) {
  const heads = ["Name", "Role", "Group", "State", ...(changes ? [""] : [])];
  fill("analysts", heads, analysts.map(({ name, role, group, enabled }) => [
    name, role, group ?? "", enabled ? "enabled" : element("span", { class: "bad" }, "disabled"),
    ...(!changes ? [] : [element("span", {},
      element("button", { type: "button", class: "quiet", onclick: () => change(name, { enabled: !enabled }) }, enabled ? "Disable" : "Enable"),
      element("button", { type: "button", class: "quiet", onclick: () => rotate(name) }, "New key"))]),
  ]));
}

function reason(words) {
  return prompt(`${words}\nWhy? It stands in the ledger for good.`);
}

function change(name, changes) {
  const why = reason(`${changes.enabled ? "Enable" : "Disable"} ${name}?`);
  if (!why) return;
  attempt(async () => {
    await send("PATCH", `/analysts/${encodeURIComponent(name)}`, { ...changes, reason: why });
    await load();
  });
}

function rotate(name) {
  const why = reason(`Give ${name} a new key? The old one opens nothing from then on.`);
  if (!why) return;
  attempt(async () => {
    reveal(await send("POST", `/analysts/${encodeURIComponent(name)}/key`, { reason: why }));
    await load();
  });
}

function reveal({ name, key: made }) {
  const secret = byId("secret");
  secret.querySelector("strong").textContent = name;
  secret.querySelector("code").textContent = made;
  show(secret, true);
  secret.scrollIntoView({ block: "nearest" });
}

function entered(form) {
  return Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
}

function submitted(id, act) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(async () => {
      await act(entered(event.target), event.submitter?.value);
      event.target.reset();
      await load();
    });
  });
}

// A delta that is left empty stays as it is.
submitted("grant", ({ account, epsilon = 0, delta, renew, most, reason: why }, act) => {
  const body = { epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }), reason: why };
  const path = `/accounts/${encodeURIComponent(account)}`;
  if (act !== "grant") return send("POST", `${path}/top-up`, body);
  const total = most === undefined ? {} : { most_in_total: most === "unlimited" ? most : Number(most) };
  return send("PUT", path, { ...body, ...(renew ? { renew } : {}), ...total });
});
submitted("add", async ({ epsilon, delta, ...fields }) => reveal(
  await send("POST", "/analysts", { ...fields, epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }) }),
));
submitted("dataset-acts", ({ reason: why }, act) => (act === "bump" ? send("POST", "/data/bump", { reason: why }) : reload(why)));

// A policy that protects less is told, and only taken when it is confirmed by its hash.
async function reload(why, confirm = undefined) {
  const box = byId("weaker");
  show(box, false);
  try {
    await send("POST", "/policy/reload", confirm ? { reason: why, confirm } : { reason: why });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "PD004") throw error;
    const hash = /[0-9a-f]{64}/.exec(`${error.message} ${error.hint}`)?.[0];
    box.replaceChildren(
      element("p", {}, error.message),
      hash ? element("button", { type: "button", onclick: () => attempt(async () => { await reload(why, hash); await load(); }) }, "It is meant: take it") : null,
    );
    show(box, true);
  }
}

byId("verify").addEventListener("click", () => attempt(async () => {
  const told = byId("verified");
  told.textContent = "Walking…";
  const { entries, head, fault } = await send("POST", "/ledger/verify");
  told.className = fault ? "bad" : "";
  told.textContent = fault ? `${fault} (the ${entries} entries before it hold)` : `All ${entries} entries hold. The last hash is ${head}.`;
}));

async function download(form, name) {
  const response = await fetch(`/v1/admin/ledger/export?format=${form}`, { headers: { Authorization: `Bearer ${key.get()}` } });
  const link = element("a", { href: URL.createObjectURL(await response.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

byId("export-csv").addEventListener("click", () => download("csv", "charges.csv"));
byId("export-json").addEventListener("click", () => download("json", "ledger.jsonl"));

async function open() {
  await load();
  show(byId("welcome"), false);
  show(byId("office"), true);
  show(byId("session"), true);
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  attempt(open, byId("sign-in-problem"));
});
byId("sign-out").addEventListener("click", signOut);
if (key.get()) open().catch(() => undefined);
