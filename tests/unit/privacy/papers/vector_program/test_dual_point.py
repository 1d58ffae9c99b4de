"""The lower bound believes no solver: any multipliers prove something true."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.papers.vector_program.certificate import DualPoint, certificate_pass
from privacy.papers.vector_program.norms import squared_norms
from privacy.papers.vector_program.search import VectorInstance
from privacy.units import ONE
from tests.support.seeds import examples
from tests.unit.privacy.papers.vector_program.vectors import Grouped, compacted


def crowd(seed: int, m: int = 40) -> list[Grouped]:
    rng = np.random.default_rng(seed)
    return [
        (frozenset(rng.choice(9, 3).tolist()), int(rng.integers(2 * ONE)), int(rng.integers(3))) for _ in range(m)
    ]


def test_nonsense_never_proves_too_much_at_any_threshold() -> None:
    for seed in range(examples(5, 60)):
        rng = np.random.default_rng(seed)
        tuples = compacted(crowd(seed))
        columns = np.flatnonzero(rng.random(tuples.n_units) < 0.7)
        pairs = np.array([(f, c) for f in range(3) for c in range(len(columns)) if rng.random() < 0.8]).reshape(-1, 2)
        points = np.where(rng.random((len(columns), 3)) < 0.6, 0.0, rng.random((len(columns), 3)))
        by_run = 10.0 ** rng.uniform(-3, 0) * np.maximum(rng.normal(0.5, 1.0, (len(pairs), 3)), 0.0)
        dual = DualPoint(columns, points, pairs[:, 0], pairs[:, 1], by_run)
        norms = squared_norms(tuples, 0)
        seen = certificate_pass(tuples, 0, norms.exceed(ONE), norms.degree, np.zeros(tuples.n_units), dual, ONE)
        instance = VectorInstance(tuples)
        for line in dual.lines(seen.gain, seen.prices):
            for ratio in (0.5, 1.0, 2.0):
                assert line.at(ratio) <= instance.removal(int(ratio * ONE)).removed, seed


def test_a_pass_adds_up_what_the_definition_says() -> None:
    for seed in range(examples(3, 10)):
        rng = np.random.default_rng(seed)
        tuples = compacted(crowd(seed))
        columns = np.sort(rng.choice(tuples.n_units, 5, replace=False))
        pairs = np.array([(f, c) for f in (0, 2) for c in range(5)])
        dual = DualPoint(columns, rng.random((5, 2)), pairs[:, 0], pairs[:, 1], rng.random((10, 2)))
        shares = np.zeros(tuples.n_units)
        shares[columns] = rng.random(5) / 2
        seen = certificate_pass(
            tuples, 0, np.ones(tuples.n_units, bool), squared_norms(tuples, 0).degree, shares, dual, ONE
        )
        gain, prices, contributions = 0.0, np.zeros(tuples.n_units), np.zeros((tuples.n_units, 3))
        for t, weight in enumerate(tuples.weights[0] / ONE):
            owners, f = tuples.units[tuples.indptr[t] : tuples.indptr[t + 1]], tuples.group[t]
            places = [i for i in range(5) if columns[i] in owners]
            worth = 0.0
            for b in range(2):
                if dual.points[places, b].sum() < 1.0:
                    worth += sum(
                        dual.by_run[run, b] for run in range(10) if pairs[run, 0] == f and pairs[run, 1] in places
                    )
            gain += weight * worth
            prices[owners] += weight * worth
            contributions[owners, f] += weight * max(0.0, 1.0 - shares[owners].sum())
        assert seen.gain == pytest.approx(gain), seed
        np.testing.assert_allclose(seen.prices, prices)
        np.testing.assert_allclose(seen.norms, np.sqrt((contributions**2).sum(axis=1)))


def test_no_multipliers_are_worth_nothing() -> None:
    tuples = compacted([(frozenset({0, other}), ONE, 0) for other in range(1, 9)])
    nothing = np.zeros(0, np.int64)
    dual = DualPoint(nothing, np.zeros((0, 0)), nothing, nothing, np.zeros((0, 0)))
    seen = certificate_pass(
        tuples, 0, np.ones(tuples.n_units, bool), squared_norms(tuples, 0).degree, np.zeros(tuples.n_units), dual, ONE
    )
    assert [line.at(0.0) for line in dual.lines(seen.gain, seen.prices)] == [0] * 5


def test_what_a_pass_proves_of_many_units_errs_by_little() -> None:
    """Each of n units alone exceeds the threshold three times: multipliers of one third prove two thirds of each."""
    n = examples(50_000, 200_000)
    tuples = compacted([(frozenset({u}), 3 * ONE, 0) for u in range(n)])
    everyone, alone = np.arange(n), np.zeros(n, np.int64)
    dual = DualPoint(everyone, np.zeros((n, 1)), alone, everyone, np.full((n, 1), 1.0 / 3.0))
    seen = certificate_pass(tuples, 0, np.ones(n, bool), np.ones(n, np.int64), np.zeros(n), dual, ONE)
    proved = dual.lines(seen.gain, seen.prices)[0].at(1.0) / 2**31
    assert 0.0 <= 2 * n / 3 - proved <= 2.0**-19
