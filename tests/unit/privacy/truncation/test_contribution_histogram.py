"""How many units have how much says of truncated sums what the units say, to the bit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.bound_first import bound_thresholds
from privacy.mechanisms.sums import Sum
from privacy.registry import (
    AllGroups,
    EachGroup,
    group_measurements,
    measurement,
    release_contributions,
    release_together,
)
from privacy.thresholds import Thresholds, useful_thresholds
from privacy.truncation.histograms import ContributionHistogram, ContributionsOfSum, histogram_thresholds
from privacy.truncation.truncate import TuplesOfSum, single_owner, truncate
from privacy.units import MAX_UNITS, ONE, saturating_sums
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls

GROUPS = 3
FINE = useful_thresholds(True, 200, fine=True)
BOUND = 200


def tuples_of(contributions: NDArray[np.int64]) -> CodedJoinTuples:
    """Units of one tuple each; as many in every group."""
    n = contributions.shape[1]
    ends = np.arange(GROUPS + 1) * (n // GROUPS)
    members = np.arange(n, dtype=np.int32)
    return CodedJoinTuples(members[None], ends, ends, contributions, (1, 1), members)


def histogram_of(contributions: NDArray[np.int64], bound: int | None = BOUND) -> ContributionHistogram:
    """What a database would count, row by row."""
    thresholds = np.array(histogram_thresholds([Thresholds(), FINE], bound))
    k, n = contributions.shape
    cells: dict[tuple[int, int, int], list[int]] = {}
    for row in range(k):
        for unit, contribution in enumerate(contributions[row].tolist()):
            if contribution:
                place = int(np.searchsorted(thresholds, contribution))
                cells.setdefault((row, unit // (n // GROUPS), place), []).append(contribution)
    sums, group, interval = np.array(sorted(cells), np.int64).reshape(-1, 3).T
    units = np.array([len(cells[cell]) for cell in sorted(cells)], np.int64)
    totals = np.array([min(MAX_UNITS, sum(cells[cell])) for cell in sorted(cells)], np.int64)
    return ContributionHistogram(sums, group, interval, units, totals, GROUPS, k, thresholds)


def _one_row(interval: int, units: int, total: int) -> ContributionHistogram:
    row = (np.array([number]) for number in (0, 0, interval, units, total))
    sums, group, intervals, counts, totals = row
    return ContributionHistogram(
        sums, group, intervals, counts, totals, 1, 1, np.array(histogram_thresholds([Thresholds()]))
    )


LOADS = st.one_of(
    st.just(0),
    st.integers(1, 300).map(lambda rows: rows * ONE),
    st.integers(0, 62).flatmap(lambda bits: st.integers(max(0, (1 << bits) - 1), min(MAX_UNITS, (1 << bits) + 1))),
)


@given(contributions=st.lists(LOADS, min_size=2 * 2 * GROUPS, max_size=2 * 2 * GROUPS))
def test_truncated_sums_are_those_of_the_units(contributions: list[int]) -> None:
    table = np.array(contributions, np.int64).reshape(2, -1)
    tuples, histogram = tuples_of(table), histogram_of(table)
    for row in range(2):
        ours = ContributionsOfSum(histogram, row)
        for thresholds in (Thresholds(), Thresholds(0, 8), FINE, bound_thresholds(BOUND)):
            counted, theirs = ours.at(thresholds), single_owner(tuples, row, thresholds)
            assert (counted.values == theirs.values).all()
            assert counted.exceedances is not None
            assert (counted.exceedances == theirs.exceedances).all()
            above = table[row].reshape(GROUPS, -1, 1) > thresholds.units
            assert (counted.exceedances == above.sum(axis=1)).all()
        assert (ours.units() == TuplesOfSum(tuples, row, 0.0).units()).all()


def test_many_units_above_a_threshold_saturate_as_they_would_one_by_one() -> None:
    thresholds = np.array(histogram_thresholds([Thresholds()]))
    one = _one_row(interval=len(thresholds), units=1 << 40, total=MAX_UNITS)
    values = ContributionsOfSum(one, 0).at(Thresholds()).values[0]
    assert values.tolist() == [min(MAX_UNITS, (1 << 40) * tau) for tau in Thresholds().units.tolist()]
    assert saturating_sums(np.zeros(2, np.int64), np.full(2, MAX_UNITS), 1)[0] == MAX_UNITS


def test_mechanisms_release_the_same_from_either() -> None:
    for name in ["gem", "group_lp", "bound_first"]:
        rng = np.random.default_rng(1)
        table = (rng.zipf(1.5, (1, 300 * GROUPS)).clip(0, 190) << 30).astype(np.int64)
        tuples, histogram = tuples_of(table), histogram_of(table)
        for seed in range(5):
            if name == "gem":
                made = measurement("gem", EachGroup(1.0, 1, whole=True, tuples_per_unit=BOUND, nested=True))
                answer = truncate(tuples, 0, made.thresholds, 0.0)
                first = made.release(answer, SimulatedEntropy(seed))
                (second,) = release_contributions([made], histogram, SimulatedEntropy(seed))
            else:
                joint = group_measurements(name, AllGroups([Sum(1.0, 0.0, FINE, bound=BOUND, nested=True)], 0.0, 1))
                (first,) = release_together(joint, tuples, SimulatedEntropy(seed))
                (second,) = release_contributions(joint, histogram, SimulatedEntropy(seed))
            assert (first.mechanism, first.epsilon) == (second.mechanism, second.epsilon), name
            for field in ("values", "tau", "low", "high", "noise_scale"):
                assert (getattr(first, field) == getattr(second, field)).all(), name


def test_groups_outside_of_the_domain_do_not_count() -> None:
    histogram = histogram_of(np.full((1, 6), ONE))
    moved = replace(histogram, group=np.array([-1, 0, 2])[histogram.group])
    assert ContributionsOfSum(moved, 0).at(Thresholds(0, 0)).values[:, 0].tolist() == [2 * ONE, 0, 2 * ONE]
    # thresholds are those of every ladder and the bound
    plain = histogram_thresholds([Thresholds()])
    assert plain == tuple(Thresholds().units.tolist()) == histogram_thresholds([Thresholds()], 1 << 40)
    assert set(histogram_thresholds([Thresholds()], 200)) - set(plain) == {200 * ONE}
    assert list(histogram_thresholds([FINE, Thresholds()], 200)) == sorted({*FINE.units, *plain, 200 * ONE})
    # a threshold that cuts an interval is refused
    with pytest.raises(InvalidParameter, match="own thresholds"):
        ContributionsOfSum(histogram_of(np.full((1, 6), ONE)), 0).at(bound_thresholds(201))


def test_mechanisms_that_need_tuples_are_refused() -> None:
    joint = group_measurements("joint_scale", AllGroups([Sum(1.0, 0.0, Thresholds())], 0.0, 1))
    with pytest.raises(InvalidParameter, match="needs the join tuples"):
        release_contributions(joint, histogram_of(np.full((1, 6), ONE)), SimulatedEntropy(1))


def test_what_no_database_counts_is_refused() -> None:
    one = _one_row(interval=5, units=1, total=7)
    assert repr(one) == "ContributionHistogram(<private>)"
    wrong = {"sums": [[1]], "group": [[3], [-2]], "interval": [[60]], "units": [[-1]], "totals": [[-1], [1, 2]]}
    for name, arrays in wrong.items():
        refuses(partial(replace, one), {}, **{name: [np.array(array) for array in arrays]})
    refuses_calls(ContributionsOfSum, (one, 1))
