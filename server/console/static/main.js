// The analysts' page: sign in, ask, read answers.

import { Answer } from "./answer/answer.js";
import { Dashboard, Together } from "./answer/dashboard.js";
import { Notebook } from "./answer/notebook.js";
import { Problem, api, key, practice, refused } from "./common/api.js";
import { byId, copy, show, tell, toast } from "./common/dom.js";
import { explainWords } from "./common/glossary.js";
import { Vault, signOut } from "./common/vault.js";
import { BudgetGauge } from "./desk/budget.js";
import { History } from "./desk/history.js";
import { Saved } from "./desk/saved.js";
import { Tour } from "./desk/tour.js";
import { Asking, Cancelled } from "./question/asking.js";
import { Editor } from "./question/editor.js";
import { offerExamples } from "./question/examples.js";
import { Explanation, whole } from "./question/explanation.js";
import { Fixing } from "./question/fixing.js";
import { SchemaTree } from "./question/schema.js";
import { Shortage } from "./question/shortage.js";
import { LINKED, linkTo, linked } from "./question/share.js";
import { Spend } from "./question/spend.js";
import { statements } from "./question/tokens.js";

const PAUSE_MS = 350;
const PAUSE_BEFORE_ERRORS_MS = 1500;
const TICK_MS = 1000;
const UNKNOWN = 401; // the key is replaced, or its holder disabled, since the page was opened
const UNREACHABLE = "08006";
const NOT_ENOUGH = "PD003"; // no epsilon that may be spent gives the accuracy

const gauge = new BudgetGauge();
const together = new Together();
const explanation = new Explanation(() => openPaid(question()), (epsilon) => run({ ...question(), epsilon }));
const editor = new Editor(byId("sql"), document.querySelector("#editor pre"), byId("completions"));
const fixing = new Fixing(editor);
const spend = new Spend();
const shortage = new Shortage(() => { spend.pure = true; spend.changed(); });
const tree = new SchemaTree((text) => editor.insert(text));
const history = new History((asked, answered) => reopen(asked, answered));
const saved = new Saved((asked) => edit(asked));
const notebook = new Notebook(byId("answers"), (asked, node) => openPaid(asked, node));
const tour = new Tour();
let vault = null;
let me = null;
let timer = null;
let typed = 0;
let explaining = null;
let running = null;
let remembering = null;

// Without a granted delta, of the analyst or the group, questions are asked without delta; those that need one are
// refused with the reason.
function question() {
  const within = spend.accuracy;
  return {
    sql: editor.sql, epsilon: spend.epsilon, ...(within ? { max_relative_error: within } : {}), ...(gauge.grantsDelta && !spend.pure ? {} : { delta: 0 }), ...mode(),
  };
}

const mode = () => (practice.get() ? { practice: true } : {});

function questions() {
  const { sql, max_relative_error: within, epsilon, ...settings } = question();
  return { queries: statements(sql).map(({ text }) => ({ sql: text })), ...(within ? { max_relative_error: within } : { epsilon }), ...settings };
}

async function signIn() {
  const holder = await api.me();
  if (holder.role !== "analyst") return administrator(holder);
  const [who, budget, schema, past] = await Promise.all([api.me(), api.budget(), api.schema(), api.history()]);
  vault = await Vault.open(key.get());
  me = who;
  await Promise.all([history.use(vault), saved.use(vault)]);
  gauge.set(budget);
  gauge.last(past.charges);
  tree.set(schema);
  editor.complete(schema.tables);
  history.set(past);
  spend.set(schema);
  byId("dataset").textContent = schema.dataset;
  byId("holder").textContent = [me.name, me.role, me.group].filter(Boolean).join(", ");
  show(byId("welcome"), false);
  show(byId("workbench"), true);
  show(byId("session"), true);
  offerExamples(schema.examples, (sql) => edit({ sql, epsilon: Math.min(spend.epsilon ?? spend.usual, spend.usual) }));
  notebook.restore();
  editor.focus();
  takeLink();
  const left = Asking.left();
  if (left) run(left.question, left);
}

// An administrator's key opens no question: no role includes another, so that who looks after budgets spends none.
function administrator({ name, role, dataset }) {
  byId("dataset").textContent = dataset;
  byId("holder").textContent = `${name}, ${role}`;
  byId("administrator-name").textContent = name;
  byId("administrator-role").textContent = `an ${role}’s`;
  show(byId("as-admin"), role === "admin");
  show(byId("as-auditor"), role !== "admin");
  show(byId("sign-in"), false);
  show(byId("administrator"), true);
  show(byId("session"), true);
  show(byId("tour-begin"), false);
}

// A question that somebody sent: shown with its cost, and asked by nobody but who reads it.
function takeLink() {
  if (!opened) return;
  edit(opened);
  say("From a link. Nothing has been asked: Run charges you, unless you have paid for this answer.");
}

// The state of the question in the editor.
function say(words) {
  byId("linked").textContent = words;
  show(byId("linked"), true);
}

// Add a question to those in the editor: several are a dashboard.
function collect(asked) {
  const there = statements(editor.sql).map(({ text }) => text);
  if (!there.includes(asked.sql.trim())) there.push(asked.sql.trim().replace(/;\s*$/, ""));
  editor.sql = `${there.join(";\n")};\n`;
  spend.accuracy = null;
  spend.changed();
  byId("sql").scrollIntoView({ block: "nearest" });
  editor.focus();
  toast(there.length > 1 ? `A dashboard of ${there.length} questions stands in the editor.` : "Add another question, ended by a semicolon, for a dashboard.");
}

function edit(asked) {
  if (asked.epsilon) spend.epsilon = asked.epsilon;
  spend.accuracy = asked.max_relative_error ?? null;
  editor.sql = asked.sql;
  spend.changed();
  byId("sql").scrollIntoView({ block: "nearest" });
  editor.focus();
}

// Errors are shown after a pause in typing: half a word is no mistake.
function later(pause = PAUSE_MS) {
  typed = Date.now();
  explaining?.abort();
  clearTimeout(timer);
  show(byId("linked"), false);
  explanation.wait();
  notebook.compare(question());
  timer = setTimeout(look, pause);
}

function problem(error) {
  const { group } = gauge.budget ?? {};
  if (group && !group.delta && gauge.budget.delta && /cost a delta/.test(error?.message ?? "")) {
    error.hint = `Your group, ${group.name}, pays, too, and was granted none. ${error.hint}`;
  }
  if (error?.status === UNKNOWN) error.hint = [error.hint, "Then sign out, and in again."].filter(Boolean).join(" ");
  fixing.tell(error, tree.tables);
}

async function look() {
  explaining?.abort();
  const several = statements(editor.sql).length > 1;
  show(byId("run"), !several);
  show(byId("run-all"), several);
  if (!statements(editor.sql).length || !spend.epsilon) {
    explanation.hide();
    together.hide();
    shortage.hide();
    gauge.plan();
    return problem(null);
  }
  explaining = new AbortController();
  try {
    await (several ? lookAtAll(explaining.signal) : lookAtOne(explaining.signal));
    problem(null);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    gauge.plan();
    const wait = typed + PAUSE_BEFORE_ERRORS_MS - Date.now();
    const say = () => { explanation.hide(); together.hide(); shortage.hide(); problem(several ? unplaced(error) : error); };
    timer = setTimeout(say, Math.max(0, wait));
  }
}

async function lookAtOne(signal) {
  const asked = question();
  const found = await api.explain(asked, signal);
  together.hide();
  gauge.plan(whole(found), Boolean(found.most_epsilon));
  shortage.set(found.cannot_pay);
  explanation.set(found, asked.sql, asked.max_relative_error);
}

// Several statements: their total cost and expected errors.
async function lookAtAll(signal) {
  const found = await api.explainWorkload(questions(), signal);
  explanation.hide();
  gauge.plan(found.charge);
  shortage.set(found.cannot_pay);
  together.explain(found, statements(editor.sql));
}

// A position within one of several statements is no position in the text.
function unplaced(error) {
  return Object.assign(new Problem({ message: error.message, hint: error.hint, code: error.code }, error.status), { position: null });
}

function busy(is) {
  for (const name of ["run", "run-all"]) byId(name).disabled = is;
  show(byId("progress"), is);
  show(byId("cancel"), is && Boolean(running?.cancel));
  byId("progress").querySelector("span").textContent = is ? "Being answered" : "";
}

// After an answer: refresh budget, policy and history, without delaying answers or questions.
async function settle() {
  const [budget, who, past] = await Promise.all([api.budget(), api.me(), api.history(), remembering]);
  me = who;
  gauge.set(budget);
  gauge.last(past.charges);
  history.set(past);
}

async function during(act, instead) {
  clearTimeout(timer);
  explaining?.abort();
  const before = me, { sql } = editor;
  busy(true);
  problem(null);
  let card = null;
  try {
    card = await act(before);
  } catch (error) {
    if (error instanceof Cancelled) toast("Cancelled. What had begun to read is charged; its answer is free if it was finished.");
    else if (error instanceof Problem) instead(error);
    else throw error;
  } finally {
    running = null;
    busy(false);
  }
  settle().then(() => card?.settled(me, history)).then(() => card && lookAgain(sql)).catch(() => null);
}

// A paid answer is free, and its error is known.
async function lookAgain(sql) {
  if (running || editor.sql !== sql) return;
  if (statements(sql).length > 1) return; // their reports would push the answers out of sight
  await look();
  explanation.fold();
}

async function run(asked = question(), asking = new Asking(asked)) {
  if (running || !asked.sql.trim()) return;
  if (!asked.epsilon) return byId("epsilon").reportValidity();
  running = asking;
  const clock = setInterval(() => {
    byId("progress").querySelector("span").textContent = `Reading and measuring, ${asking.seconds} s. You may leave: it goes on, and opens again free.`;
  }, TICK_MS);
  await during(async (before) => {
    const answer = await asking.answer();
    const at = Date.now();
    explanation.fold();
    gauge.plan();
    if (answer.charge.epsilon) remembering = history.remember(answer.request_id, asked);
    return place(answer, { question: asked, at, me, before });
  }, (error) => {
    const charged = asking.requestId ?? error.requestId;
    if (charged) remembering = history.remember(charged, asked); // a part of it may be
    failed(error);
  });
  clearInterval(clock);
}

function place(answer, context) {
  const card = new Answer(answer, context, {
    edit, collect, again: (one) => openPaid(one.question, one.root), anew: (asked) => run({ ...asked, reuse: "never" }), close: (one) => notebook.remove(one.root),
  });
  notebook.add(card);
  card.compare(question());
  lookAt(card);
  return card;
}

// Do not scroll if the answer is visible.
function lookAt({ title, root }) {
  title.focus({ preventScroll: true });
  const { top } = root.getBoundingClientRect();
  if (top < 0 || top > 0.6 * innerHeight) root.scrollIntoView({ block: "start" });
}

function failed(error) {
  if (error.code === NOT_ENOUGH) {
    explanation.hide();
    gauge.plan();
  }
  problem(error);
  if (error.position) editor.reveal(error.position);
}

// Open paid answers only, so that the history and a reloaded page charge nothing.
async function openPaid(asked, node = null) {
  if (running) return;
  running = {};
  await during(async (before) => {
    const { max_relative_error: _, ...rest } = asked;
    const answer = statements(asked.sql).length > 1 ? null : await api.query({ ...rest, reuse: "only" });
    if (node) notebook.remove(node);
    if (!answer) return refresh(asked, before);
    return place(answer, { question: asked, at: Date.now(), me, before });
  }, (error) => {
    edit(asked); // first: what is said of the question before it is cleared
    if (error.code === UNREACHABLE || error.status === UNKNOWN) return problem(Object.assign(error, { position: null }));
    const anew = statements(asked.sql).length > 1 ? "Ask dashboard measures them" : "Run measures it";
    say(`Not free any more: the data may be new since. ${anew} again, and is charged.`);
  });
}

async function refresh(asked, before) {
  const parts = statements(asked.sql);
  const { sql: _, max_relative_error: within, epsilon, ...settings } = asked;
  const body = { queries: parts.map(({ text }) => ({ sql: text })), ...(within ? { max_relative_error: within } : { epsilon }), ...settings };
  return board({ ...body, reuse: "only" }, asked, before);
}

async function runAll() {
  if (running || statements(editor.sql).length < 2) return;
  running = {};
  await during((before) => board(questions(), question(), before), (error) => failed(unplaced(error)));
}

async function board(body, asked, before) {
  const answered = await api.workload(body);
  together.hide();
  gauge.plan();
  const parts = statements(asked.sql);
  const card = new Dashboard(answered, { asked: parts, question: asked, at: Date.now(), me, before }, {
    edit, again: (one) => openPaid(one.question, one.root), anew: (asked) => run({ ...asked, reuse: "never" }), close: (one) => notebook.remove(one.root),
  });
  notebook.add(card);
  card.compare(question());
  lookAt(card);
  if (answered.charge.epsilon) remembering = history.remember(answered.request_id, asked);
  return card;
}

function reopen(asked, answered) {
  edit(asked);
  if (answered) openPaid({ ...asked, ...mode() });
}

function practise() {
  byId("practice").checked = practice.get();
  show(byId("practising"), practice.get());
}

// A link that is opened in this tab.
addEventListener("hashchange", () => { if (location.hash.startsWith("#sql=")) location.reload(); });

const opened = linked();
explainWords();
practise();
show(byId("linked-before"), Boolean(opened));
byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  try {
    await signIn();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    key.clear();
    tell(refused(error), byId("sign-in-problem"));
  }
});
byId("sign-out").addEventListener("click", () => signOut(vault));
byId("tour-begin").addEventListener("click", () => tour.begin(gauge.budget));
byId("practice").addEventListener("change", () => {
  practice.set(byId("practice").checked);
  practise();
  settle().then(look);
});
byId("run").addEventListener("click", () => run());
byId("run-all").addEventListener("click", runAll);
byId("cancel").addEventListener("click", () => running?.cancel?.());
byId("save-question").addEventListener("click", () => saved.begin(question()));
byId("share").addEventListener("click", () => {
  if (!editor.sql.trim()) return toast("There is no question to share yet.");
  copy(linkTo(question()), "The link", LINKED);
});
spend.addEventListener("change", () => later());
editor.addEventListener("change", () => later());
editor.addEventListener("run", () => (statements(editor.sql).length > 1 ? runAll() : run()));
byId("sign-in-button").disabled = false; // before this line the browser itself would have sent the form, and the key in it

if (key.get()) {
  signIn().catch((error) => {
    if (!(error instanceof Problem)) throw error;
    key.clear();
    if (error.status === 401) signOut(); // whose key it was is gone, and so is what was asked with it
  });
}
