// Questions to begin with, which the proxy finds good for its own schema.

import { byId, quiet } from "../common/dom.js";

export function offerExamples(examples, take) {
  if (!examples.length) return;
  byId("examples").replaceChildren("Try ", ...examples.map(({ name, sql }) => quiet(name, () => take(sql))));
}
