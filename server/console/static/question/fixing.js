// A refusal beside the question: what is wrong and where, with the proxy's correction at a click.

import { byId, quiet, show, tell } from "../common/dom.js";
import { counts } from "./counting.js";

const MEANT = /did you mean ((?:[\w.]+|"[^"]+")(?:(?:, | or )(?:[\w.]+|"[^"]+"))*)\?/i;

const ROWS = /would show rows/;

export class Fixing {
  constructor(editor) {
    this.editor = editor;
  }

  tell(error, tables = []) {
    show(byId("problem-box"), Boolean(error));
    tell(error, byId("problem"));
    const position = error?.position ?? null;
    this.editor.mark(position);
    const meant = position && MEANT.exec(`${error.message} ${error.hint ?? ""}`)?.[1];
    const words = meant ? meant.split(/, | or /) : [];
    const instead = ROWS.test(error?.message ?? "") ? counts(this.editor.sql, tables) : [];
    show(byId("fix"), words.length + instead.length > 0);
    byId("fix").replaceChildren(...words.map((word) => quiet(`Use ${word}`, () => this.editor.fix(position, word))),
      ...instead.map(([name, sql]) => quiet(name, () => this.write(sql), { title: sql })));
  }

  write(sql) {
    this.editor.sql = sql;
    this.editor.area.focus();
  }
}
