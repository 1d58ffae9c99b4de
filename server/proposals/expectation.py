"""The answer that another epsilon would have given: intervals at public noise, no row read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from planner.planning.measurements import AnyRelease
from planner.released_expression import Apply, Given, KeyValue, ReleasedExpression, within_no_range
from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.backends.columns import Domain
from server.explain.mechanism_reasons import shared_by_found
from server.query import Budget, QueryResponse
from server.question import Question
from server.results.arithmetic.evaluate import releases_used
from server.results.response import response

NOBODY = Budget(0.0, 0.0, 0.0, 0.0)
"""Of an answer that nobody gets."""


def expected_answer(question: Question, released: Released) -> QueryResponse:
    """An earlier answer as it would be with the noise of this question, at the same thresholds.

    Args:
      question: at the epsilon that is tried.
      released: what the analyst knows of the same query, at whatever epsilon.
    Returns: the values of `released`, with the intervals that `question` would give them.
    """
    n_groups = len(released.domain)
    measuring = question.measuring.of_groups(released.domain)
    noisy = tuple(
        _at(measured, known, n_groups) for measured, known in zip(measuring.releases, released.noisy, strict=True)
    )
    return response(question.plan, released.domain, noisy, NOBODY, "")


def worst_answer(question: Question, domain: Domain) -> QueryResponse:
    """One row with the widest intervals that any data can give in these public groups, around zero.

    Returns: open intervals where no public bound says how large a threshold can become, or where an interval's width
      depends on the values: of quotients, of CASE and the like; or on how many groups will be found.
    """
    plan = question.plan
    outputs = tuple(
        replace(output, expression=within_no_range(output.expression))
        for output in plan.outputs
        if releases_used(output.expression)
    )
    bounded = plan.tuples_per_unit is not None or all(one.name == "fixed" for one in question.measuring.releases)
    bounded &= not any(release.counts_exceeding for release in plan.releases)  # which moves an end by any number
    known = bounded and not shared_by_found(plan) and all(_linear(output.expression) for output in outputs)
    ungrouped: Plan = replace(
        plan, outputs=outputs, group_keys=(), domains=(), having=None, order=(), limit=None, offset=0
    )
    measuring = question.measuring.of_groups(domain)
    noisy = tuple(_around_zero(measured, len(domain), known) for measured in measuring.releases)
    return response(ungrouped, Domain(()), noisy, NOBODY, "")


def _at(measured: AnyRelease, known: NoisyAnswer, n_groups: int) -> NoisyAnswer:
    """The known values with the noise of another budget, threshold by threshold."""
    taus, halves = _noise(measured, n_groups)
    half = halves[np.minimum(np.searchsorted(taus, known.tau), len(taus) - 1)]
    # What a choice overlooks falls as its budget grows: so much stronger is the same value. What was added up of
    # other answers has no budget of its own: there it falls as noise does.
    before = (known.high - known.low) / 2
    by_noise = np.divide(before, half, out=np.ones_like(before), where=(before > 0) & (half > 0))
    signal = known.signal * (measured.epsilon / known.epsilon if known.epsilon > 0 else by_noise)
    moved = known.exceeding  # as many people have more than the policy lets count
    below, above = (0.0, 0.0) if moved is None else (moved.below, moved.above)
    return replace(known, low=known.values - half - below, high=known.values + half + above, signal=signal)


def _around_zero(measured: AnyRelease, n_groups: int, known: bool) -> NoisyAnswer:
    """Nothing, with the noise of the largest threshold, or of any."""
    taus, halves = _noise(measured, n_groups)
    worst = halves[-1:] if known else np.full(1, np.inf)
    return NoisyAnswer(
        values=np.zeros(1),
        tau=taus[-1:],
        noise_scale=worst,  # nothing of an interval depends on it
        low=-worst,
        high=worst,
        confidence=0.95,
        covers="truncated_full",
        mechanism=measured.name,
        epsilon=measured.epsilon,
        signal=np.full(1, np.inf),
    )


def _noise(measured: AnyRelease, n_groups: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(L,) thresholds, rising, and the half-width of an interval at each."""
    table = np.array(measured.expected_noise(n_groups), np.float64)
    return table[:, 0], table[:, 1]


def _linear(expression: ReleasedExpression) -> bool:
    """Is the width of its interval the same wherever its releases lie?"""
    if isinstance(expression, KeyValue):
        return False
    if not isinstance(expression, Apply):
        return True
    if expression.operator in ("+", "-", "negate"):
        return all(map(_linear, expression.arguments))
    if expression.operator not in ("*", "/"):
        return False
    left, right = expression.arguments
    scaled = isinstance(right, Given) and _linear(left)
    return scaled or (expression.operator == "*" and isinstance(left, Given) and _linear(right))
