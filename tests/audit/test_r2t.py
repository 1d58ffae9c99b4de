"""r2t keeps its claim on the worst inputs known, and its mutants do not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privacy.mechanisms.racing.r2t import R2T
from tests.audit.auditing import audit
from tests.audit.mutants import UnsplitR2T, WeakerNoise
from tests.audit.pairs import Table, crowd_and_one_more, empty_and_full_unit, level_race
from tests.support.simulated_entropy import SimulatedEntropy

BOUND = 16.0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_level_race_spends_nearly_everything_and_no_more(epsilon: float) -> None:
    r2t = R2T(epsilon, BOUND, groups_per_unit=1)
    assert epsilon - 0.3 < audit(r2t, level_race(r2t), runs=300_000) <= epsilon


def test_another_base_keeps_the_claim_too() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1, base=Fraction(5, 2))
    assert 0.7 < audit(r2t, level_race(r2t), runs=300_000) <= 1.0


def test_empty_against_a_unit_at_every_bound() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, empty_and_full_unit(r2t.ladder)) <= 1.0


def test_a_crowd_and_one_more() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, crowd_and_one_more(r2t.ladder, people=100, load=5.0)) <= 1.0


def test_a_solver_gap_is_paid_for() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1, gap=0.5)
    assert 0.75 < audit(r2t, level_race(r2t)) <= 1.0


def test_a_unit_in_two_groups() -> None:
    r2t = R2T(1.0, 4.0, groups_per_unit=2)
    assert 0.75 < audit(r2t, level_race(r2t, n_groups=2), together=2) <= 1.0


def test_catches_half_the_noise() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, level_race(r2t), WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > 1.0


def test_catches_an_unsplit_budget() -> None:
    r2t = UnsplitR2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, level_race(r2t)) > 1.0


def test_catches_one_group_per_unit_where_it_is_two() -> None:
    r2t = R2T(1.0, 4.0, groups_per_unit=1)
    assert audit(r2t, level_race(r2t, n_groups=2), together=2) > 1.0


def test_catches_noise_that_forgets_the_gap() -> None:
    def with_gap(pair: tuple[Table, Table]) -> tuple[Table, Table]:
        return pair[0], pair[1] + (pair[1] - pair[0]) // 2

    r2t = R2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, with_gap(level_race(r2t))) > 1.0
