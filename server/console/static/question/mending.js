// A refusal beside the question: what is wrong, where, and, where the proxy names the word that was meant, that word at a click.

import { byId, quiet, show, tell } from "../common/dom.js";

const MEANT = /did you mean ((?:[\w.]+|"[^"]+")(?:(?:, | or )(?:[\w.]+|"[^"]+"))*)\?/i;

export class Mending {
  constructor(editor) {
    this.editor = editor;
  }

  tell(error) {
    show(byId("problem-box"), Boolean(error));
    tell(error, byId("problem"));
    const position = error?.position ?? null;
    this.editor.mark(position);
    const meant = position && MEANT.exec(`${error.message} ${error.hint ?? ""}`)?.[1];
    const words = meant ? meant.split(/, | or /) : [];
    show(byId("mend"), words.length > 0);
    byId("mend").replaceChildren(...words.map((word) => quiet(`Use ${word}`, () => this.editor.mend(position, word))));
  }
}
