"""Notes on an answer: less than the usual confidence, and an order that the noise does not tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from planner.released_expression import SortKey
from server.note import Note
from server.results.arithmetic import Column
from server.results.evaluate import Evaluator, releases_used

USUAL = 0.95
"""Of the interval of one release, the same for all."""


def confidence_notes(confidence: float) -> Iterator[Note]:
    """The sentence that says why it is this confidence; none where it is the usual one.

    Args:
      confidence: of every interval of an answer, by the union bound over its releases.

    >>> [str(note)[:40] for note in confidence_notes(0.9)], list(confidence_notes(0.95)), list(confidence_notes(1.0))
    (['These intervals have 90% and not 95%: so'], [], [])
    """
    count = round((1 - confidence) / (1 - USUAL))  # a sample's interval misses a little more often than others
    if count > 1:
        said = (
            f"These intervals have {100 * confidence:.4g}% and not {100 * USUAL:.4g}%: something here is computed "
            f"from {count} noisy numbers, as an average is from a sum and a count (and a sum that may be negative is "
            "two). Each of them is outside of its own interval one time in twenty, so that one of "
            f"{count} is up to {count} times in twenty."
        )
        yield Note(said, "confidence")


_NAMED = 3
"""Pairs that are named; of more their number is said."""

_TIED = (
    "The noise does not tell {pairs} apart: their intervals overlap, so that the true order of such neighbours may be"
    " the other one."
)


def order_note(plan: Plan, evaluate: Evaluator, ordered: NDArray[np.int64]) -> Note | None:
    """The sentence about neighbours whose intervals overlap; None where there is no LIMIT, or no such pair.

    Args:
      ordered: (G,) the groups that HAVING leaves, sorted, before OFFSET and LIMIT: the first that is left out is the
        neighbour of the last that is shown. Its values are released as those of the others are.
    """
    key = _first_noisy(plan)
    if plan.display.limit is None or key is None:
        return None
    near = ordered[plan.display.offset : plan.display.offset + plan.display.limit + 1]
    overlap = _overlap(evaluate(key.expression), near)
    shown = len(ordered[plan.display.rows])
    pairs = [f"rows {place + 1} and {place + 2}" for place in np.flatnonzero(overlap[: shown - 1]).tolist()]
    if len(near) > shown > 0 and overlap[-1]:
        pairs.append("the last row and the first that LIMIT leaves out")
    if not pairs:
        return None
    if len(pairs) > _NAMED:
        named = f"{len(pairs)} of {len(overlap)} neighbours"
        return Note(_TIED.format(pairs=f"{named}, {pairs[-1]} among them,"), "order")
    return Note(_TIED.format(pairs=", nor ".join(pairs)), "order")


def _first_noisy(plan: Plan) -> SortKey | None:
    """What is sorted by, if it is noisy: where keys come first, groups of one value of them are no neighbours."""
    first = next(iter(plan.display.order), None)
    return first if first is not None and releases_used(first.expression) else None


def _overlap(values: Column, near: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(G - 1,) do the intervals of a group and the next one meet?"""
    low, high = values.low[near], values.high[near]
    return np.asarray((low[:-1] <= high[1:]) & (low[1:] <= high[:-1]))
