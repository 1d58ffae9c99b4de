// A running question. If it takes longer than a second it becomes a job, which is polled until it is done, also by a
// reloaded page.

import { api, call } from "../common/api.js";

const UNDER_WAY = "noisegate.underway";
const BETWEEN_MS = 400;

export class Cancelled extends Error {}

export class Asking {
  // location: of the job, where the question was asked before this page was opened.
  // requestId: under which it is charged.
  constructor(question, { location = null, begun = Date.now(), requestId = null } = {}) {
    Object.assign(this, { question, location, begun, requestId, cancelled: false });
  }

  // The job that this tab left under way: null where there is none.
  static left() {
    const kept = JSON.parse(sessionStorage.getItem(UNDER_WAY) ?? "null");
    return kept && new Asking(kept.question, kept);
  }

  get seconds() {
    return Math.floor((Date.now() - this.begun) / 1000);
  }

  async answer() {
    const stopped = new Promise((_, reject) => { this.stop = () => reject(new Cancelled()); });
    try {
      return await Promise.race([this.work(), stopped]);
    } finally {
      sessionStorage.removeItem(UNDER_WAY);
    }
  }

  async work() {
    if (!this.location) {
      const first = await call("POST", "/v1/query", this.question, { Prefer: "respond-async, wait=1" });
      if (first.status !== 202) return first.body;
      Object.assign(this, { location: first.location, requestId: first.requestId });
      if (this.cancelled) return this.tellProxy();
      sessionStorage.setItem(UNDER_WAY, JSON.stringify({ question: this.question, location: this.location, begun: this.begun, requestId: this.requestId }));
    }
    for (;;) {
      const { body } = await call("GET", this.location);
      if (body.state === "done") return (await call("GET", `${this.location}/result`)).body;
      if (this.cancelled) return null;
      await new Promise((resume) => setTimeout(resume, BETWEEN_MS));
    }
  }

  // The page stops waiting at once. The proxy is notified as soon as the request id is known.
  cancel() {
    this.cancelled = true;
    this.stop();
    if (this.location) this.tellProxy();
  }

  tellProxy() {
    return api.cancel(this.location).catch(() => null);
  }
}
