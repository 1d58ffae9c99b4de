// The HTTP API. The key is stored in this tab only.

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

const PRACTICE = "noisegate.practice";

// Whether this tab asks the practice database.
export const practice = {
  get: () => sessionStorage.getItem(PRACTICE) === "on",
  set: (on) => sessionStorage.setItem(PRACTICE, on ? "on" : "off"),
};

const DISABLED = "28000"; // the key is right, and its holder may not ask any more

// The message for a key that does not sign in.
export function refused(problem) {
  return problem.status === 401 && problem.code !== DISABLED ? UNKNOWN_KEY : problem;
}

const UNKNOWN_KEY = { message: "This key opens nothing.", hint: "Copy all of it, from ng_ on, or ask your administrator." };

async function sent(method, path, body, headers, signal) {
  const options = { method, signal, headers: { ...headers } };
  if (key.get()) options.headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ code: "08006", message: "The proxy cannot be reached.", hint: "Is it still running?" }, 0);
  }
}

export async function call(method, path, body, headers = {}, signal = undefined) {
  const response = await sent(method, path, body, headers, signal);
  const text = await response.text();
  const parsed = text ? JSON.parse(text) : null;
  if (!response.ok) throw new Problem(parsed ?? { code: "XX000", message: `HTTP ${response.status}` }, response.status);
  return { status: response.status, body: parsed, location: response.headers.get("Location"), requestId: response.headers.get("X-Request-Id") };
}

// The bytes of a file.
export async function fetched(method, path, body, accept) {
  const response = await sent(method, path, body, accept ? { Accept: accept } : {});
  if (!response.ok) throw new Problem(await response.json(), response.status);
  return response.blob();
}

const get = async (path) => (await call("GET", path)).body;
const post = async (path, body, signal) => (await call("POST", path, body, {}, signal)).body;

export const api = {
  me: () => get("/v1/me"),
  budget: () => get(`/v1/budget?practice=${practice.get()}`),
  schema: () => get("/v1/schema"),
  history: () => get(`/v1/history?practice=${practice.get()}`),
  query: (question) => post("/v1/query", question),
  explain: (question, signal) => post("/v1/explain", question, signal),
  workload: (questions) => post("/v1/workload", questions),
  explainWorkload: (questions, signal) => post("/v1/workload/explain", questions, signal),
  cancel: (location) => call("DELETE", location),
};
