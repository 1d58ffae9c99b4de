"""What privacy units bring and induce, and the exact loss of whole mechanisms on small random instances."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.join_tuples import CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact, encode
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.support.laplace_mixture import Mixture, mixture_loss
from tests.support.papers.unit_samples import Exploration, explorable, induced, unit_sampled_loss
from tests.support.seeds import examples

UNITS = 5
Rows = list[tuple[int, int, int]]
"""(first owner, second owner or -1, weight in quarters) per join tuple."""

rows_of = st.lists(st.tuples(st.integers(0, UNITS - 1), st.integers(-1, UNITS - 1), st.integers(0, 8)), max_size=9)


def instance(rows: Rows) -> JoinTuples:
    table = np.array(rows, np.int64).reshape(-1, 3)
    owners = tuple(OwnerColumn("unit", table[:, i].copy(), table[:, i] < 0) for i in range(2))
    return JoinTuples(owners, np.zeros(len(table), np.int64), 1, table[None, :, 2] * (ONE // 4))


def same(first: CompactJoinTuples, second: CompactJoinTuples) -> bool:
    arrays = ("indptr", "units", "group", "weights")
    return first.n_units == second.n_units and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays
    )


@lru_cache(maxsize=4096)
def truncated(rows: tuple[tuple[int, int, int], ...]) -> float:
    """At the threshold 1, in normalised weight."""
    return truncate(encode(instance(list(rows))), 0, Thresholds(0, 0), 0.0).solve(0, 0) / ONE


@given(rows_of, st.lists(st.booleans(), min_size=UNITS, max_size=UNITS))
def test_induced_tuples_are_those_of_kept_owners(rows: Rows, kept: list[bool]) -> None:
    whole = encode(instance(rows))
    unit_of: dict[int, int] = {}
    for row, column in zip(rows, whole.members.T.tolist(), strict=True):
        unit_of |= zip(column, dict.fromkeys(unit for unit in row[:2] if unit >= 0), strict=False)
    mask = np.array([kept[unit_of.get(member, 0)] for member in range(int(whole.member_start[-1]))], bool)
    stays = [row for row in rows if all(kept[unit] for unit in row[:2] if unit >= 0)]
    part = induced(whole, mask)
    owners = [{unit_of[member] for member in column if member >= 0} for column in part.members.T]
    assert owners == [{unit for unit in row[:2] if unit >= 0} for row in stays]
    assert part.weights.tolist() == [[row[2] * (ONE // 4) for row in stays]]
    expected = encode(instance(stays))
    assert (part.owners, part.row_start.tolist()) == (expected.owners, expected.row_start.tolist())


@given(rows_of, st.sets(st.integers(0, UNITS - 1)))
def test_drawn_units_bring_the_tuples_that_they_own_first(rows: Rows, drawn: set[int]) -> None:
    filed = explorable(instance(rows), UNITS)
    firsts = sorted({row[0] for row in rows})
    chosen = np.array(sorted(drawn), np.int64)
    brought = [row for row in rows if row[0] in {firsts[i] for i in drawn if i < len(firsts)}]
    assert same(compact(filed.brought_by(chosen)), compact(instance(brought)))
    loads = [sum(row[2] for row in rows if i < len(firsts) and row[0] == firsts[i]) for i in chosen]
    assert filed.contributions_of(chosen).tolist() == [load * (ONE // 4) for load in loads]
    assert filed.n_units == UNITS


def removed(rows: Rows, unit: int, removable: list[bool]) -> Rows:
    """The rows without some of those that the unit owns."""
    return [row for row, gone in zip(rows, removable, strict=False) if not (gone and unit in row[:2])]


def explored(rows: Rows, places: list[int], drawn: int) -> Mixture:
    """Every set of drawn units, with the truncated answer of what it brings; `places` are the units there are."""
    sets = list(itertools.combinations(places, min(drawn, len(places))))
    return [(1 / len(sets), truncated(tuple(row for row in rows if row[0] in chosen))) for chosen in sets]


@given(
    rows_of,
    st.integers(0, UNITS - 1),
    st.lists(st.booleans(), min_size=9, max_size=9),
    st.integers(1, 3),
    st.sampled_from([0.3, 2.0, 8.0]),
    st.booleans(),
)
def test_exploring_loses_no_more_than_claimed(
    rows: Rows, unit: int, removable: list[bool], drawn: int, epsilon: float, row_goes: bool
) -> None:
    """Also when the unit's own row goes, and the number of units with it."""
    fewer = removed(rows, unit, [True] * 9 if row_goes else removable)
    places = list(range(UNITS))
    left = [place for place in places if not (row_goes and place == unit)]
    loss = mixture_loss(explored(rows, places, drawn), explored(fewer, left, drawn), 1 / epsilon)
    bringing = {row[0] for row in rows if unit in row[:2]} | {unit}
    claim = Exploration(drawn, len(bringing) - 1).loss(epsilon, UNITS)
    assert loss <= claim + 1e-9


def sampled(rows: Rows, rate: float) -> Mixture:
    """Every set of units that may stay."""
    mixture = []
    for kept in itertools.product([True, False], repeat=UNITS):
        stays = [row for row in rows if all(kept[unit] for unit in row[:2] if unit >= 0)]
        probability = math.prod(rate if keep else 1 - rate for keep in kept)
        mixture.append((probability, truncated(tuple(stays))))
    return mixture


@settings(max_examples=examples(12, 15))
@given(
    rows_of,
    st.integers(0, UNITS - 1),
    st.lists(st.booleans(), min_size=9, max_size=9),
    st.sampled_from([0.1, 0.5]),
    st.sampled_from([0.3, 2.0, 8.0]),
)
def test_a_sample_of_units_loses_no_more_than_claimed(
    rows: Rows, unit: int, removable: list[bool], rate: float, epsilon: float
) -> None:
    loss = mixture_loss(sampled(rows, rate), sampled(removed(rows, unit, removable), rate), 1 / epsilon)
    assert loss <= unit_sampled_loss(epsilon, rate) + 1e-9


def test_one_unit_at_the_threshold_loses_all_that_is_claimed() -> None:
    full: Rows = [(0, -1, 4)]
    loss = mixture_loss(explored(full, list(range(UNITS)), 1), explored([], list(range(UNITS)), 1), 1 / 2.0)
    assert loss == pytest.approx(Exploration(1, 0).loss(2.0, UNITS), rel=1e-8)
