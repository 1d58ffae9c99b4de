"""Notes about lower confidence, and about an order that the noise does not separate."""

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
"""The confidence of the interval of one release."""


def confidence_notes(confidence: float) -> Iterator[Note]:
    """The reason for a confidence below the usual one.

    Args:
      confidence: of every interval of an answer, by the union bound over its releases.

    >>> [str(note)[:40] for note in confidence_notes(0.9)], list(confidence_notes(0.95)), list(confidence_notes(1.0))
    (['These intervals have 90% instead of 95% '], [], [])
    """
    count = round((1 - confidence) / (1 - USUAL))  # a sample's interval misses a little more often than others
    if count > 1:
        said = (
            f"These intervals have {100 * confidence:.4g}% instead of {100 * USUAL:.4g}% confidence, since a value is"
            f" computed from {count} noisy numbers (an average from a sum and a count, a sum of both signs from two)."
            f" Each misses in 5% of answers, so one of {count} misses in at most {5 * count}%."
        )
        yield Note(said, "confidence")


_NAMED = 3
"""At most this many pairs are named; otherwise their number."""

_TIED = "The noise does not separate {pairs}: their intervals overlap, so their true order may be the other one."


def order_note(plan: Plan, evaluate: Evaluator, ordered: NDArray[np.int64]) -> Note | None:
    """The note about neighbours whose intervals overlap; None without LIMIT or without such a pair.

    Args:
      ordered: (G,) the groups that pass HAVING, sorted, before OFFSET and LIMIT. The first omitted group is the
        neighbour of the last shown one; its values are released like all others.
    """
    key = _first_noisy(plan)
    if plan.display.limit is None or key is None:
        return None
    near = ordered[plan.display.offset : plan.display.offset + plan.display.limit + 1]
    overlap = _overlap(evaluate(key.expression), near)
    shown = len(ordered[plan.display.rows])
    pairs = [f"rows {place + 1} and {place + 2}" for place in np.flatnonzero(overlap[: shown - 1]).tolist()]
    if len(near) > shown > 0 and overlap[-1]:
        pairs.append("the last row and the first one after LIMIT")
    if not pairs:
        return None
    if len(pairs) > _NAMED:
        named = f"{len(pairs)} of {len(overlap)} neighbours"
        return Note(_TIED.format(pairs=f"{named} (such as {pairs[-1]})"), "order")
    return Note(_TIED.format(pairs=", or ".join(pairs)), "order")


def _first_noisy(plan: Plan) -> SortKey | None:
    """The first sort key, if it is noisy. After a group key, groups with equal keys are no neighbours."""
    first = next(iter(plan.display.order), None)
    return first if first is not None and releases_used(first.expression) else None


def _overlap(values: Column, near: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(G - 1,) do the intervals of a group and the next one overlap?"""
    low, high = values.low[near], values.high[near]
    return np.asarray((low[:-1] <= high[1:]) & (low[1:] <= high[:-1]))
