"""laplace_global keeps its claim on a unit at the bound, and its mutants do not."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.published.laplace_global import LaplaceGlobal
from privacy.units import ONE
from tests.audit.auditing import audit
from tests.audit.mutants import WeakerNoise
from tests.audit.pairs import Table
from tests.support.simulated_entropy import SimulatedEntropy

BOUND = 24.0


def nobody_and(load: float) -> tuple[Table, Table]:
    return np.zeros(1, np.int64), np.array([round(load * ONE)], np.int64)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_unit_at_the_bound_costs_all_and_no_more(epsilon: float) -> None:
    mechanism = LaplaceGlobal(epsilon, BOUND, groups_per_unit=1)
    assert epsilon - 0.2 < audit(mechanism, nobody_and(BOUND)) <= epsilon


def test_a_broken_promise_costs_what_is_announced() -> None:
    """The threshold cuts whoever has more at 32, so that is the worst."""
    mechanism = LaplaceGlobal(1.0, BOUND, groups_per_unit=1)
    assert 1.0 < audit(mechanism, nobody_and(32.0)) <= mechanism.epsilon_if_bound_fails()


def test_catches_half_the_noise() -> None:
    mechanism = LaplaceGlobal(1.0, BOUND, groups_per_unit=1)
    assert audit(mechanism, nobody_and(BOUND), WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > 1.0


def test_catches_an_answer_that_is_not_truncated() -> None:
    mechanism = LaplaceGlobal(1.0, BOUND, groups_per_unit=1)
    assert audit(mechanism, nobody_and(100.0)) > mechanism.epsilon_if_bound_fails()


def test_catches_one_group_per_unit_where_it_is_two() -> None:
    mechanism = LaplaceGlobal(1.0, BOUND, groups_per_unit=1)
    assert audit(mechanism, nobody_and(BOUND), together=2) > 1.0
