// The HTTP API as the page uses it. The key lives in this tab only.

const KEY = "noisegate.key";

export class Problem extends Error {
  constructor(body, status) {
    super(body.message);
    Object.assign(this, { code: body.code, hint: body.hint, position: body.position, requestId: body.request_id, status });
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  clear: () => sessionStorage.removeItem(KEY),
};

// Signing out leaves nothing of the analyst's behind in this browser, nor in the page: a reload could restore what was
// typed, a page that is opened anew cannot.
export function signOut() {
  for (const store of [sessionStorage, localStorage]) {
    for (const name of Object.keys(store).filter((each) => each.startsWith("noisegate."))) store.removeItem(name);
  }
  location.replace(location.pathname);
}

export async function call(method, path, body, headers = {}, signal = undefined) {
  const sent = { method, signal, headers: { ...headers } };
  if (key.get()) sent.headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) {
    sent.headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ code: "08006", message: "The proxy cannot be reached.", hint: "Is it still running?" }, 0);
  }
  const text = await response.text();
  const parsed = text ? JSON.parse(text) : null;
  if (!response.ok) throw new Problem(parsed ?? { code: "XX000", message: `HTTP ${response.status}` }, response.status);
  return { status: response.status, body: parsed, location: response.headers.get("Location") };
}

export const api = {
  budget: async () => (await call("GET", "/v1/budget")).body,
  schema: async () => (await call("GET", "/v1/schema")).body,
  history: async () => (await call("GET", "/v1/history")).body,
  explain: async (question, signal) => (await call("POST", "/v1/explain", question, {}, signal)).body,
  workload: async (questions) => (await call("POST", "/v1/workload", questions)).body,
  explainWorkload: async (questions, signal) => (await call("POST", "/v1/workload/explain", questions, {}, signal)).body,
  cancel: (location) => call("DELETE", location),
};

// Ask; what takes longer than a second becomes a job, which `progress` is told of.
export async function ask(question, progress) {
  const first = await call("POST", "/v1/query", question, { Prefer: "respond-async, wait=1" });
  if (first.status !== 202) return first.body;
  const location = first.location;
  for (;;) {
    const { body } = await call("GET", location);
    if (body.state === "done") return (await call("GET", `${location}/result`)).body;
    progress({ location, elapsed: body.elapsed_s, state: body.state });
    await new Promise((resume) => setTimeout(resume, 400));
  }
}
