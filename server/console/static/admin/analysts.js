// Who holds keys: role, group, state; and what an admin changes about them.

import { byId, element, quiet, show } from "../common/dom.js";
import { attempt, fill, send, why } from "./office.js";

export class Analysts {
  constructor(done) {
    this.done = done;
  }

  draw(analysts, changes) {
    const heads = ["Name", "Role", "Group", "State", ...(changes ? ["Change"] : [])];
    fill("analysts", heads, analysts.map(({ name, role, group, enabled }) => [
      name, role, group ?? "", enabled ? "enabled" : element("span", { class: "bad" }, "disabled"),
      ...(!changes ? [] : [element("span", { class: "acts" },
        quiet(enabled ? "Disable" : "Enable", () => this.change(name, enabled ? "Disable" : "Enable", { enabled: !enabled })),
        quiet("Group", () => this.regroup(name, group)), quiet("New key", () => this.rotate(name)))]),
    ]));
  }

  async change(name, words, changes) {
    const said = await why(`${words} ${name}?`);
    if (said) this.patch(name, { ...changes, reason: said.reason });
  }

  async regroup(name, group) {
    const said = await why(`Which group pays beside ${name}? None: leave it empty.`, { field: "Group", value: group ?? "" });
    if (said) this.patch(name, { group: said.value || null, reason: said.reason });
  }

  patch(name, body) {
    return attempt(async () => {
      await send("PATCH", `/analysts/${encodeURIComponent(name)}`, body);
      await this.done();
    });
  }

  async rotate(name) {
    const said = await why(`Give ${name} a new key? The old one opens nothing from then on.`);
    if (!said) return;
    attempt(async () => {
      reveal(await send("POST", `/analysts/${encodeURIComponent(name)}/key`, { reason: said.reason }));
      await this.done();
    });
  }
}

export function reveal({ name, key: made }) {
  const secret = byId("secret");
  secret.querySelector("strong").textContent = name;
  secret.querySelector("code").textContent = made;
  show(secret, true);
  secret.scrollIntoView({ block: "nearest" });
}

// What the form says, as the API takes it.
export function analystOf({ epsilon, delta, ...fields }) {
  return { ...fields, epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }) };
}
