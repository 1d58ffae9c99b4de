// The marks of a row: low precision is a hollow circle and a grey number, clipped an arrow upwards.

import { element } from "../common/dom.js";

export const STATES = {
  low_precision: { sign: "○", words: "The noise may be as large as the value" },
  clipped: { sign: "↑", words: "Some of the value may be missing: people with many rows are counted in part" },
};

// A row may be both, and then shows both.
export function statesOf(answer, place) {
  return Object.keys(STATES).filter((state) => answer[state][place]);
}

// The one mark for small places: that something may be missing counts more.
export function stateOf(answer, place) {
  return statesOf(answer, place).at(-1) ?? null;
}

export function sign(state) {
  const { sign: shape, words } = STATES[state];
  return element("span", { class: `sign ${state}`, title: words }, shape, element("span", { class: "visually-hidden" }, ` ${named(state)}`));
}

const named = (state) => state.replace("_", " ");

// What the marks of an answer mean, once below it.
export function legend(answer) {
  const there = Object.keys(STATES).filter((state) => answer.rows.some((_, place) => answer[state][place]));
  if (!there.length) return null;
  return element("p", { class: "legend hint" }, there.map((state) => element(
    "span", {}, element("span", { class: `sign ${state}`, "aria-hidden": "true" }, STATES[state].sign), ` ${named(state)}: ${STATES[state].words[0].toLowerCase()}${STATES[state].words.slice(1)}.`,
  )));
}
