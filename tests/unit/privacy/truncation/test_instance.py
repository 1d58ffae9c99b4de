"""The prepared instance: degenerate inputs, closed forms, and a selection that looks at less than everything."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.papers.vector_program.vectors import Grouped, compacted, feasible, persons, sums_of
from tests.unit.privacy.refusals import refuses_each

TRIANGLE: list[Grouped] = [(frozenset(pair), ONE, 0) for pair in ((0, 1), (1, 2), (0, 2))]


def star(leaves: int, weight: int = ONE, groups: int = 1) -> list[Grouped]:
    return [(frozenset({0, leaf}), weight, leaf % groups) for leaf in range(1, leaves + 1)]


def test_nothing_to_truncate_and_one_unit_has_a_closed_form() -> None:
    instance = VectorInstance(compacted([]))
    assert instance.removal(1).removed == 0
    assert instance.sums(1) == (0, 0, 0)
    assert instance.select(Thresholds(0, 3), np.zeros(4, np.int64)) == 0
    tuples = compacted([(frozenset({7}), 3 * ONE, 0), (frozenset({7}), 4 * ONE, 2)])
    removal = VectorInstance(tuples).removal(ONE)
    assert persons(removal.removed) == pytest.approx(0.8, abs=1e-8)
    assert feasible(tuples, removal, ONE)


def test_a_length_equal_to_the_threshold_is_kept_whole() -> None:
    tuples = compacted([(frozenset({7}), 3 * ONE, 0), (frozenset({7}), 4 * ONE, 2)])
    assert VectorInstance(tuples).removal(5 * ONE).removed == 0
    assert VectorInstance(tuples).removal(5 * ONE - 1).removed > 0


def test_removing_the_centre_of_a_star_is_cheaper_than_its_leaves() -> None:
    tuples = compacted(star(100, groups=2))
    removal = VectorInstance(tuples).removal(ONE)
    assert persons(removal.removed) == pytest.approx(1 - 1 / np.hypot(50, 50), abs=1e-7)
    assert np.count_nonzero(removal.shares) == 1


def test_a_unit_below_the_threshold_may_be_the_one_to_remove() -> None:
    """Unit 0 is within tau and shares a tuple with each of six units that exceed it a little."""
    tau = 10 * ONE
    tuples: list[Grouped] = []
    for other in range(1, 7):
        tuples += [(frozenset({0, other}), 4 * ONE, other - 1), (frozenset({other}), 7 * ONE, other - 1)]
    instance = VectorInstance(compacted(tuples, 6))
    removal = instance.removal(tau)
    assert persons(removal.removed) == pytest.approx(0.25, abs=1e-4)
    assert removal.shares[0] == pytest.approx(0.25, abs=1e-4)


def test_a_fair_triangle_shares_the_burden() -> None:
    tuples = compacted(TRIANGLE)
    removal = VectorInstance(tuples).removal(ONE)
    assert persons(removal.removed) == pytest.approx(0.75, abs=1e-4)


def test_weights_from_one_unit_to_saturation() -> None:
    for weight in [1, ONE // 10**9 + 1, ONE, MAX_UNITS]:
        tuples = compacted([*star(20, weight), (frozenset({1, 2, 3}), weight, 1)])
        instance = VectorInstance(tuples)
        for tau in (1, 1000, ONE, MAX_UNITS):
            removal = instance.removal(tau)
            assert feasible(tuples, removal, tau), weight
            assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP, weight
            assert instance.sums(tau) == sums_of(tuples, removal), weight


def test_weights_of_zero_count_for_nothing_and_a_unit_that_owns_everything() -> None:
    instance = VectorInstance(compacted([(frozenset({1, 2}), 0, 0), (frozenset({2}), 0, 1)]))
    assert instance.removal(1).removed == 0
    tuples = compacted([(frozenset({0, other % 5 + 1}), ONE, other % 3) for other in range(60)])
    removal = VectorInstance(tuples).removal(ONE)
    assert persons(removal.removed) == pytest.approx(1 - 1 / np.linalg.norm([20, 20, 20]), abs=1e-4)


def test_answers_do_not_depend_on_the_order_of_questions() -> None:
    rng = np.random.default_rng(5)
    tuples = compacted(
        [(frozenset(rng.choice(12, 3).tolist()), int(rng.integers(ONE)), int(rng.integers(3))) for _ in range(80)]
    )
    thresholds = Thresholds(-2, 4)
    down, up = VectorInstance(tuples), VectorInstance(tuples)
    asked = {tau: down.removal(tau) for tau in reversed(thresholds.units.tolist())}
    up.select(thresholds, np.full(len(thresholds), 2 * WHOLE))
    for tau, before in asked.items():
        after = up.removal(tau)
        assert (after.removed, after.lower) == (before.removed, before.lower)
        assert np.array_equal(after.shares, before.shares)


def test_parameters_outside_their_domain_are_refused() -> None:
    tuples = compacted(TRIANGLE)
    for gap, release in ((1, 0), (DEFAULT_GAP, 1)):
        with pytest.raises(InvalidParameter):
            VectorInstance(tuples, release, gap)
    instance = VectorInstance(tuples)
    refuses_each(instance.removal, (0, MAX_UNITS + 1))
    with pytest.raises(InvalidParameter):
        instance.select(Thresholds(0, 1), np.zeros(3, np.int64))


def test_nothing_private_is_shown() -> None:
    instance = VectorInstance(compacted(TRIANGLE))
    assert repr(instance) == "VectorInstance(<private>)"
    assert repr(instance.removal(ONE)) == "Removal(<private>)"
