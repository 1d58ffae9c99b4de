"""Large cores, solved by columns: every bound holds, and values have their gap whatever was asked before."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.thresholds import Thresholds
from privacy.truncation import programs_by_threshold as instances
from privacy.truncation.encode import encode
from privacy.truncation.programs import large_core
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.large_core import LargeCore, canonical_core
from privacy.truncation.programs.solver_routes import certified_optimum
from privacy.truncation.programs_by_threshold import programs_by_threshold
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.support.dense_graphs import dense_triangles
from tests.support.graph_joins import counted
from tests.support.seeds import sampled

THRESHOLDS = Thresholds(-1, 9)
GAP = 0.01
POINTS = 40


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "LARGE", 16)
    monkeypatch.setattr(large_core, "_FEWEST", 16)
    monkeypatch.setattr(large_core, "_PLENTY", 0.1)


def _cores(seed: int) -> Iterator[tuple[LargeCore, int]]:
    """Cores with weights of all sizes and repeated owners, and their thresholds."""
    columns = dense_triangles(60, 4, 16, 8, seed)
    draw = np.random.default_rng(seed)
    columns = columns[:, draw.integers(0, columns.shape[1], 2 * columns.shape[1])]
    tuples = counted(tuple(columns))
    tuples.weights[0] = draw.choice([0, 1, ONE // 3, ONE, 9 * ONE], len(tuples.weights[0]))
    instance = programs_by_threshold(encode(tuples), 0, THRESHOLDS)
    for index, tau in enumerate(THRESHOLDS.units.tolist()):
        core = instance.reduced(0, index).large
        if core is not None:
            yield core, tau


def _check_bounds(core: LargeCore, tau: int) -> int:
    """Compare with the whole program; returns how many proofs came from some of the tuples."""
    program = canonical_core(core.owners, core.weights, core.caps.copy())
    exact = Certificate(0, 0, 0) if program is None else certified_optimum(program, tau >> 10)
    found = 0
    for proof in islice(core.certificates(), POINTS):
        assert proof.value >> proof.bits <= exact.ceiling()
        assert proof.ceiling() >= exact.floor()
        found += proof.bits == 0
        if proof.within(tau >> 9):
            break
    return found


@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_bounds_of_some_tuples_hold_for_all(seed: int) -> None:
    proofs = [_check_bounds(core, tau) for core, tau in _cores(seed)]
    assert len(proofs) >= 8 and sum(proofs) >= 20


def test_a_mutant_that_prices_only_tuples_that_joined_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    price = large_core._price

    def of_joined(owners, weights, caps, dual, chosen, *rest):  # type: ignore[no-untyped-def]
        return price(owners, np.where(chosen, weights, 0), caps, dual, chosen, *rest)

    monkeypatch.setattr(large_core, "_price", of_joined)
    with pytest.raises(AssertionError):
        for core, tau in _cores(0):
            _check_bounds(core, tau)


def _values(columns: NDArray[np.int64], order: tuple[int, ...] = ()) -> list[int]:
    answer = truncate(encode(counted(tuple(columns))), 0, THRESHOLDS, GAP)
    for index in order:
        answer.sharpen(0, index)
    return [answer.solve(0, index) for index in range(len(THRESHOLDS))]


@pytest.mark.parametrize("seed", sampled(range(4), 1))
def test_values_are_those_of_the_set_and_within_their_gap(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = dense_triangles(120, 6, 24, 10, seed)
    draw = np.random.default_rng(seed)
    values = _values(columns)
    asked = tuple(draw.permutation(3 * len(THRESHOLDS)) % len(THRESHOLDS))
    assert _values(columns[:, draw.permutation(columns.shape[1])], asked) == values
    person = int(np.argmax(np.bincount(columns.ravel())))
    without = _values(columns[:, ~(columns == person).any(axis=0)])
    monkeypatch.setattr(instances, "LARGE", 1 << 30)
    for tau, value, fewer, fine in zip(THRESHOLDS.units.tolist(), values, without, _values(columns), strict=True):
        assert abs(value - fine) <= Fraction(GAP) * tau
        assert abs(value - fewer) <= (1 + Fraction(GAP)) * tau
