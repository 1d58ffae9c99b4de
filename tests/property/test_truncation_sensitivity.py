"""One unit more or less moves a truncated value by at most what noise hides (docs/mathematics.md, section 3.1)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from tests.property.truncation_strategies import THRESHOLDS, Tuple, hypergraphs, single_owners
from tests.unit.privacy.truncation.instances import from_sets, optimum_of

GAP = 0.05
NEW_UNIT = 999


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[list[Tuple], list[Tuple]]:
    """A table and the rows that one more unit owns, alone or with others; the unit may be present already."""
    table = draw(hypergraphs(min_size=1))
    unit = draw(st.sampled_from([0, 1, NEW_UNIT]))
    added = draw(hypergraphs(max_size=6))
    return table, [(owners | {unit}, weight) for owners, weight in added]


@given(neighbours())
def test_the_exact_optimum_moves_by_at_most_the_threshold_and_what_was_added(
    pair: tuple[list[Tuple], list[Tuple]],
) -> None:
    table, added = pair
    for tau in THRESHOLDS.units.tolist():
        move = optimum_of(table + added, tau) - optimum_of(table, tau)
        slack = 1e-6 * tau
        assert -slack <= move <= min(tau, sum(weight for _, weight in added)) + slack


@given(neighbours())
def test_certified_values_move_by_at_most_one_plus_the_gap(pair: tuple[list[Tuple], list[Tuple]]) -> None:
    table, added = pair
    small = truncate(encode(from_sets(table)), 0, THRESHOLDS, GAP)
    large = truncate(encode(from_sets(table + added)), 0, THRESHOLDS, GAP)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert abs(large.solve(0, j) - small.solve(0, j)) <= (1 + GAP) * tau


@given(single_owners(), st.integers(0, 5), single_owners())
def test_the_closed_form_moves_by_at_most_the_threshold(table: list[Tuple], unit: int, added: list[Tuple]) -> None:
    more = [(frozenset({unit}), weight) for _, weight in added]
    thresholds = Thresholds()
    small = truncate(encode(from_sets(table)), 0, thresholds, 0.0).bounds()[0]
    large = truncate(encode(from_sets(table + more)), 0, thresholds, 0.0).bounds()[0]
    move = (large - small)[0]
    assert np.all(move >= 0)
    assert np.all(move <= np.minimum(thresholds.units, sum(weight for _, weight in more)))


@given(single_owners())
def test_the_closed_form_is_the_program_when_everybody_is_alone(table: list[Tuple]) -> None:
    closed = truncate(encode(from_sets(table)), 0, THRESHOLDS, 0.0)
    program = truncate(encode(from_sets(table)), 0, THRESHOLDS, GAP)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert abs(closed.solve(0, j) - optimum_of(table, tau)) <= 1e-6 * tau
        assert closed.solve(0, j) - GAP * tau <= program.solve(0, j) <= closed.solve(0, j)
