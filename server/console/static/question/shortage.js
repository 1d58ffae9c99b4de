// The refusal of a question that no account can pay for, shown before it is asked, with what to ask instead.

import { byId, element, quiet, show, tell } from "../common/dom.js";

export class Shortage {
  // act: asks without a delta from now on.
  constructor(act) {
    this.act = act;
    this.root = byId("short");
  }

  // Is the question refused as it stands?
  get told() {
    return !this.root.hidden;
  }

  hide() {
    tell(null, this.root);
  }

  set(refusal) {
    tell(refusal, this.root);
    if (refusal?.without_delta) this.root.append(element("p", { class: "buttons" }, quiet("Ask without delta", this.act)));
  }
}
