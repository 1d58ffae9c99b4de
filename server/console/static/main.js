// The workbench: sign in, ask, look.

import { Problem, api, ask, key, signOut } from "./api.js";
import { BudgetGauge } from "./budget.js";
import { byId, element, show } from "./dom.js";
import { Editor } from "./editor.js";
import { explain } from "./explanation.js";
import { amount } from "./format.js";
import { History } from "./history.js";
import { Result } from "./result.js";
import { SchemaTree } from "./schema.js";
import { statements } from "./tokens.js";
import { Together } from "./together.js";

const PAUSE_MS = 350;
const SMALLEST = 0.01;
const UNKNOWN_KEY = { message: "This key opens nothing.", hint: "Copy all of it, from ng_ on, or ask your custodian." };

const gauge = new BudgetGauge();
const result = new Result();
const together = new Together((answer) => result.set(answer));
const editor = new Editor(byId("sql"), document.querySelector("#editor pre"), byId("completions"));
const tree = new SchemaTree((text) => editor.insert(text));
const history = new History(reopen);
let largest = 1;
let timer = null;
let explaining = null;
let running = null;

// Epsilon grows by the same factor with each step of the slider.
const slider = byId("epsilon");
const epsilonOf = (place) => Number((SMALLEST * (largest / SMALLEST) ** (place / 100)).toPrecision(2));
const placeOf = (epsilon) => Math.round((100 * Math.log(epsilon / SMALLEST)) / Math.log(largest / SMALLEST));
const epsilon = () => Math.min(epsilonOf(Number(slider.value)), largest);

// An accuracy in percent: what it needs is spent, and epsilon is the most that may be.
const accuracy = () => (byId("accuracy").valueAsNumber > 0 ? byId("accuracy").valueAsNumber / 100 : null);

// Who was granted no delta asks for pure answers; a question that cannot do without one is refused with its reason.
function question() {
  const within = accuracy();
  return {
    sql: editor.sql, epsilon: epsilon(), ...(within ? { max_relative_error: within } : {}), ...(gauge.budget.delta ? {} : { delta: 0 }),
  };
}

function tell(problem, where = byId("problem")) {
  show(where, Boolean(problem));
  where.textContent = problem ? [problem.message, problem.hint].filter(Boolean).join("\n") : "";
  if (where.id === "problem") editor.mark(problem?.position ?? null);
}

async function signIn() {
  const [budget, schema, past] = await Promise.all([api.budget(), api.schema(), api.history()]);
  gauge.set(budget);
  tree.set(schema);
  editor.complete(tree.words());
  history.set(past);
  largest = schema.max_epsilon;
  slider.value = placeOf(schema.epsilon);
  byId("epsilon-shown").textContent = amount(epsilon());
  byId("dataset").textContent = schema.dataset;
  show(byId("welcome"), false);
  show(byId("workbench"), true);
  show(byId("session"), true);
  offerExamples(schema.examples);
  editor.area.focus();
}

function offerExamples(examples) {
  if (!examples.length) return;
  byId("examples").replaceChildren("Try ", ...examples.map(({ name, sql }) => element(
    "button", { type: "button", class: "quiet", onclick: () => { editor.sql = sql; editor.area.focus(); } }, name,
  )));
}

function later() {
  byId("epsilon-shown").textContent = amount(epsilon());
  byId("epsilon-means").textContent = accuracy() ? "Epsilon, at most" : "Epsilon";
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE_MS);
}

async function look() {
  explaining?.abort();
  const several = statements(editor.sql).length > 1;
  show(byId("run"), !several);
  show(byId("run-all"), several);
  if (several) return lookAtAll();
  together.hide();
  if (!editor.sql.trim()) {
    show(byId("explanation"), false);
    gauge.plan();
    return tell(null);
  }
  explaining = new AbortController();
  try {
    const found = await api.explain(question(), explaining.signal);
    tell(null);
    gauge.plan(found);
    explain(found);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    gauge.plan();
    show(byId("explanation"), false);
    tell(error);
  }
}

// Several statements: what they would cost together, and how well each would be known.
async function lookAtAll() {
  show(byId("explanation"), false);
  explaining = new AbortController();
  try {
    const found = await api.explainWorkload(questions(), explaining.signal);
    tell(null);
    gauge.plan(found.charge);
    together.explain(found, statements(editor.sql));
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    gauge.plan();
    together.hide();
    tell({ ...error, message: error.message, position: null });
  }
}

function questions() {
  const { sql, ...settings } = question();
  return { queries: statements(sql).map(({ text }) => ({ sql: text })), ...settings };
}

async function runAll() {
  const asked = statements(editor.sql);
  if (running || asked.length < 2) return;
  clearTimeout(timer);
  running = { location: null };
  busy(true);
  try {
    const answered = await api.workload(questions());
    tell(null);
    gauge.set(answered.budget);
    gauge.plan();
    together.set(answered, asked);
    history.set(await api.history());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    show(byId("result"), false);
    tell({ ...error, message: error.message, position: null });
    gauge.set(await api.budget());
  } finally {
    running = null;
    busy(false);
  }
}

function busy(is) {
  byId("run").disabled = is;
  byId("run-all").disabled = is;
  show(byId("progress"), is);
  show(byId("cancel"), false);
  byId("progress").querySelector("span").textContent = "";
}

async function run(asked = question()) {
  if (running || !asked.sql.trim()) return;
  clearTimeout(timer);
  running = { location: null };
  busy(true);
  try {
    const answer = await ask(asked, ({ location, elapsed, state }) => {
      running.location = location;
      show(byId("cancel"), true);
      byId("progress").querySelector("span").textContent = `${state}, ${Math.round(elapsed)} s`;
    });
    tell(null);
    gauge.set(await api.budget());
    gauge.plan();
    history.remember(answer.request_id, asked);
    result.set(answer);
    history.set(await api.history());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    show(byId("result"), false); // the answer before is not this question's
    tell(error);
    if (error.position) editor.reveal(error.position);
    gauge.set(await api.budget());
  } finally {
    running = null;
    busy(false);
  }
}

function reopen(asked, answered) {
  slider.value = placeOf(asked.epsilon);
  byId("accuracy").value = "";
  editor.sql = asked.sql;
  byId("epsilon-shown").textContent = amount(epsilon());
  if (answered) run(asked);
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  key.set(byId("key").value.trim());
  try {
    await signIn();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    key.clear();
    tell(error.status === 401 ? UNKNOWN_KEY : error, byId("sign-in-problem"));
  }
});
byId("sign-out").addEventListener("click", signOut);
byId("run").addEventListener("click", () => run());
byId("run-all").addEventListener("click", runAll);
byId("cancel").addEventListener("click", () => running?.location && api.cancel(running.location));
slider.addEventListener("input", later);
byId("accuracy").addEventListener("input", later);
editor.addEventListener("change", later);
editor.addEventListener("run", () => (statements(editor.sql).length > 1 ? runAll() : run()));

if (key.get()) {
  signIn().catch((error) => {
    if (!(error instanceof Problem)) throw error;
    key.clear();
  });
}
