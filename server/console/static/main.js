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

const PAUSE_MS = 350;
const SMALLEST = 0.01;
const UNKNOWN_KEY = { message: "This key opens nothing.", hint: "Copy all of it, from ng_ on, or ask your custodian." };

const gauge = new BudgetGauge();
const result = new Result();
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

// Who was granted no delta asks for pure answers; a question that cannot do without one is refused with its reason.
function question() {
  return { sql: editor.sql, epsilon: epsilon(), ...(gauge.budget.delta ? {} : { delta: 0 }) };
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
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE_MS);
}

async function look() {
  explaining?.abort();
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

function busy(is) {
  byId("run").disabled = is;
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
    gauge.set(answer.budget);
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
byId("cancel").addEventListener("click", () => running?.location && api.cancel(running.location));
slider.addEventListener("input", later);
editor.addEventListener("change", later);
editor.addEventListener("run", () => run());

if (key.get()) {
  signIn().catch((error) => {
    if (!(error instanceof Problem)) throw error;
    key.clear();
  });
}
