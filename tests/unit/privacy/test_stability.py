"""The calculus against the exact optimum: the worst epsilon-DP mechanism on all samples of a few records, by a LP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.support.papers.stability import (
    Bernoulli,
    FractionOf,
    Sampling,
    Stable,
    WithoutReplacement,
    charged,
)
from tests.support.seeded_draws import SeededDraws
from tests.unit.privacy.refusals import refuses_each

Law = dict[frozenset[int], float]
EPSILON = 0.7
SAMPLINGS: list[Sampling] = [
    *(Bernoulli(rate) for rate in (0.1, 0.5, 1.0)),
    *(WithoutReplacement(size) for size in (1, 2, 3)),
    *(FractionOf(share) for share in (0.2, 0.4, 0.5, 0.75, 1.0)),
]


def law(sampling: Sampling, records: int) -> Law:
    """The exact law of the sample."""
    if isinstance(sampling, Bernoulli):
        sets = [frozenset(s) for k in range(records + 1) for s in itertools.combinations(range(records), k)]
        return {s: sampling.rate ** len(s) * (1 - sampling.rate) ** (records - len(s)) for s in sets}
    size = len(sampling.kept(records, SeededDraws(1)))
    sets = [frozenset(s) for s in itertools.combinations(range(records), size)]
    return dict.fromkeys(sets, 1 / len(sets))


Distance = Callable[[frozenset[int], int, frozenset[int], int], int]


def of_samples(a: frozenset[int], _: int, b: frozenset[int], __: int) -> int:
    return len(a ^ b)


def of_parts(a: frozenset[int], m: int, b: frozenset[int], n: int) -> int:
    return len(a ^ b) + len((frozenset(range(m)) - a) ^ (frozenset(range(n)) - b))


def worst(fewer: Law, more: Law, records: int, distance: Distance) -> float:
    """The largest log ratio of the probabilities of an event, over all mechanisms that are EPSILON-DP."""
    points = [(s, records) for s in fewer] + [(s, records + 1) for s in more]
    laws = np.array([[*fewer.values()] + [0.0] * len(more), [0.0] * len(fewer) + [*more.values()]])
    rows = []
    for (i, one), (j, other) in itertools.permutations(enumerate(points), 2):
        row = np.zeros(len(points))
        row[i], row[j] = 1.0, -math.exp(EPSILON * distance(*one, *other))
        rows.append(row)
    found = []
    for top, bottom in (laws, laws[::-1]):
        solved = linprog(-top, np.array(rows), np.zeros(len(rows)), bottom[None], [1.0], bounds=(0, None))
        assert solved.fun is not None
        found.append(math.log(-solved.fun))
    return max(found)


def test_no_mechanism_behind_a_sample_costs_more() -> None:
    for sampling in SAMPLINGS:
        found = [worst(law(sampling, m), law(sampling, m + 1), m, of_samples) for m in range(5)]
        assert max(found) <= sampling.sigma(EPSILON) + 1e-7
        if not isinstance(sampling, WithoutReplacement):
            assert max(found) > 0.8 * sampling.sigma(EPSILON)


def test_no_mechanisms_on_both_parts_cost_more() -> None:
    """Of all mechanisms of both parts, not only pairs."""
    for sampling in SAMPLINGS:
        found = [worst(law(sampling, m), law(sampling, m + 1), m, of_parts) for m in range(5)]
        assert max(found) <= sampling.sigma_of_parts(EPSILON) + 1e-7


def test_sigma_of_each_step_is_the_papers_formula() -> None:
    assert Bernoulli(0.1).sigma(1.0) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)))
    assert WithoutReplacement(9).sigma(1.0) == pytest.approx(math.log((9 * math.e**2 + 1) / 10))
    assert WithoutReplacement(9).sigma_of_parts(1.0) == pytest.approx(math.log((9 * math.e**3 + math.e) / 10))
    assert FractionOf(0.1).sigma(1.0) == pytest.approx(1.0)
    assert FractionOf(0.9).sigma(1.0) == pytest.approx(math.log(0.1 + 0.9 * math.e**2))
    assert Stable(3).sigma(0.5) == pytest.approx(1.5)
    assert charged([Stable(2), Bernoulli(0.5)], 1.0) == pytest.approx(2 * math.log(1 + 0.5 * (math.e - 1)))
    assert 999 < WithoutReplacement(9).sigma(500.0) >= math.log(0.9) + 1000


def test_samples_are_as_large_as_they_say() -> None:
    draws = SeededDraws(2)
    assert len(WithoutReplacement(5).kept(100, draws)) == len(set(WithoutReplacement(5).kept(100, draws))) == 5
    assert sorted(WithoutReplacement(5).kept(3, draws).tolist()) == [0, 1, 2]
    assert len(FractionOf(0.3).kept(99, draws)) == 29
    assert abs(len(Bernoulli(0.25).kept(100_000, draws)) - 25_000) < 800
    for step, wrong in ((Bernoulli, 0), (WithoutReplacement, 0), (FractionOf, 1.1), (Stable, -1)):
        refuses_each(step, [wrong])
