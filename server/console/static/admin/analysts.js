// The holders of keys: role, group, state; and an admin's changes to them.

import { Problem } from "../common/api.js";
import { byId, copy, element, quiet, show, toast } from "../common/dom.js";
import { totalOf } from "./accounts.js";
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
        quiet(enabled ? "Disable" : "Enable", () => this.change(`${enabled ? "Disable" : "Enable"} ${name}?`, name, !enabled)),
        ...(enabled ? [quiet("Lift limit", () => this.change(`Let ${name} ask again after too many failures? Those until now count no longer.`, name, true))] : []),
        quiet("Group", () => this.regroup(name, group)), quiet("Role", () => this.recast(name, role)), quiet("New key", () => this.rotate(name)))]),
    ]));
  }

  async change(question, name, enabled) {
    const said = await why(question);
    const done = enabled ? `${name} may ask again.` : `${name} is disabled: the key opens nothing from now on.`;
    if (said) this.patch(name, { enabled, reason: said.reason }, done);
  }

  async regroup(name, group) {
    const said = await why(`Which group pays beside ${name}? None: leave it empty.`, { field: "Group", value: group ?? "" });
    const done = said?.value ? `group ${said.value} pays beside ${name} from now on.` : `no group pays beside ${name} any more.`;
    if (said) this.patch(name, { group: said.value || null, reason: said.reason }, done);
  }

  async recast(name, role) {
    const said = await why(`Which role has ${name}? An analyst asks; an auditor sees all of this page; an admin changes it. Neither of the two asks.`,
      { field: "Role", value: role, choices: ["analyst", "auditor", "admin"] });
    if (said && said.value !== role) this.patch(name, { role: said.value, reason: said.reason }, `${name} is an ${said.value} from now on.`);
  }

  // done: what is said once it is.
  patch(name, body, done) {
    return attempt(async () => {
      await send("PATCH", `/analysts/${encodeURIComponent(name)}`, body);
      await this.done();
      toast(`Done: ${done}`);
    });
  }

  async rotate(name) {
    const said = await why(`Give ${name} a new key? The old one opens nothing from then on.`);
    if (!said) return;
    attempt(async () => {
      reveal(await send("POST", `/analysts/${encodeURIComponent(name)}/key`, { reason: said.reason }));
      await this.done();
      toast(`Done: ${name} has another key. It stands above, this once.`);
    });
  }
}

export function reveal({ name, key: made }) {
  const secret = byId("secret");
  secret.querySelector("strong").textContent = name;
  secret.querySelector("code").textContent = made;
  byId("copy-secret").onclick = () => copy(made, "The key");
  show(secret, true);
  secret.scrollIntoView({ block: "nearest" });
}

// The form's values as the API expects them.
export function analystOf({ epsilon, delta, renew, most, ...fields }) {
  const period = renew ? { renew, ...totalOf(most) } : {};
  if (!renew && most !== undefined) {
    throw new Problem({ message: "No analyst was added: an epsilon for all periods needs a period.", hint: "Choose how often the budget renews, or leave that field empty." });
  }
  return { ...fields, epsilon: Number(epsilon), ...(delta === undefined ? {} : { delta: Number(delta) }), ...period };
}
