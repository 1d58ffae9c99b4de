"""Two kinds of units, of which one reaches fewer groups and may contribute more to each: what removing one moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.shared_threshold import SummedAnswer
from privacy.mechanisms.sums import capacities_of
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.programs_by_threshold import CAPACITY_BITS, Capacities
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE
from tests.property.truncation_strategies import weights
from tests.support.seeds import sampled
from tests.unit.privacy.truncation.instances import join_tuples, optimum, owner, program

GROUPS, UNITS = 4, 4
THRESHOLDS = Thresholds(-3, 4)
LONG = Thresholds(-20, 32)
GAP = 0.05


@dataclass(frozen=True)
class Row:
    """A join tuple: its customer and its part, of which one may be missing, its group and its weight."""

    customer: int | None
    part: int | None
    group: int
    weight: int


def truncated(
    rows: list[Row], capacities: Capacities, gap: float, thresholds: Thresholds = THRESHOLDS
) -> TruncatedAnswer:
    customers, parts = [row.customer for row in rows], [row.part for row in rows]
    owners = [owner("customer", customers, np.int64), owner("part", parts, np.int64)]
    table = join_tuples(owners, [[row.weight for row in rows]], [row.group for row in rows], GROUPS)
    return truncate(encode(table), 0, thresholds, gap, capacities=capacities)


def values(answer: TruncatedAnswer) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array([[answer.solve(group, j) for j in range(len(answer.thresholds))] for group in range(GROUPS)])


def oracle(rows: list[Row], group: int, index: int, capacities: Capacities) -> float:
    """The program of one group on a blackboard, customers first, each kind with its own capacity."""
    factor = dict(capacities.factors)
    tau = int(THRESHOLDS.units[index])
    caps = [tau * factor.get(kind, 1 << CAPACITY_BITS) >> CAPACITY_BITS for kind in ("customer", "part")]
    table = [(_units(row), row.weight) for row in rows if row.group == group and _units(row)]
    return optimum(program(table, [caps[0]] * UNITS + [caps[1]] * UNITS))


def _units(row: Row) -> frozenset[int]:
    """Customers are 0 .. UNITS - 1, parts follow."""
    part = None if row.part is None else UNITS + row.part
    return frozenset(unit for unit in (row.customer, part) if unit is not None)


@st.composite
def tables(draw: st.DrawFn, spread: int) -> list[Row]:
    """Customers reach `spread` groups each, which follow from who they are; parts reach all of them."""
    units = st.integers(0, UNITS - 1)
    drawn = draw(
        st.lists(st.tuples(st.none() | units, st.none() | units, st.integers(0, GROUPS - 1), weights), max_size=16)
    )
    return [
        Row(customer, part, group if customer is None else (customer + group % spread) % GROUPS, weight)
        for customer, part, group, weight in drawn
    ]


factors = st.integers(1 << CAPACITY_BITS, 9 << CAPACITY_BITS)


@given(tables(GROUPS), factors, factors)
def test_values_are_those_of_the_program_with_a_capacity_for_each_kind(rows: list[Row], one: int, other: int) -> None:
    capacities = Capacities((("customer", one), ("part", other)))
    exact, certified = (values(truncated(rows, capacities, gap)) for gap in (0.0, GAP))
    for group in range(GROUPS):
        for j, tau in enumerate(THRESHOLDS.units.tolist()):
            best, slack = oracle(rows, group, j, capacities), 1e-6 * 9 * tau
            assert math.floor(best + slack) >= exact[group, j] >= best - 1 - slack
            assert best - GAP * tau - slack <= certified[group, j] <= best + slack


@given(tables(GROUPS), factors, factors)
def test_bounds_hold_before_anything_is_solved_and_in_any_order(rows: list[Row], one: int, other: int) -> None:
    capacities = Capacities((("customer", one), ("part", other)))
    for gap in (0.0, GAP):
        known = values(truncated(rows, capacities, gap))
        answer = truncated(rows, capacities, gap)
        for j in reversed(range(len(THRESHOLDS))):
            low, high = answer.bounds()
            assert ((low <= known) & (known <= high)).all()
            for group in range(GROUPS):
                answer.sharpen(group, j)
                assert answer.solve(group, j) == known[group, j]


@given(st.integers(1, 3).flatmap(lambda spread: st.tuples(st.just(spread), tables(spread))), st.booleans(), st.data())
def test_a_unit_of_either_kind_moves_no_more_than_the_noise_hides(
    drawn: tuple[int, list[Row]], gaussian: bool, data: st.DataObject
) -> None:
    """In each group its capacity; over the groups, in steps of the noise, what L0 groups at tau would be."""
    spread, rows = drawn
    kinds = (("customer", spread), ("part", GROUPS))
    capacities = capacities_of(kinds, None, GROUPS, gaussian)
    kind = data.draw(st.sampled_from(["customer", "part"]))
    unit = data.draw(st.integers(0, UNITS - 1))
    its = [i for i, row in enumerate(rows) if (row.customer if kind == "customer" else row.part) == unit]
    gone = set(data.draw(st.sets(st.sampled_from(its)))) if its else set()
    left = [row for i, row in enumerate(rows) if i not in gone]
    gap = data.draw(st.sampled_from([0.0, GAP]))
    more, less = (values(truncated(table, capacities, gap)) for table in (rows, left))
    move = np.abs(more - less)
    reached = dict(kinds)[kind]
    factor = dict(capacities.factors)[kind]
    assert ((move > 0).sum(axis=0) <= reached).all()
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        own = (tau * factor >> CAPACITY_BITS) + int(gap * tau)
        assert (move[:, j] <= own).all()
        noise = ThresholdNoise(tau, gap, Fraction(1))
        steps = np.abs(more[:, j] // noise.step - less[:, j] // noise.step)
        assert steps.sum() <= GROUPS * noise.sensitivity
        if gaussian:
            assert (steps.astype(float) ** 2).sum() <= GROUPS * noise.sensitivity**2
    sums = [
        np.array(
            [SummedAnswer(truncated(table, capacities, gap), GROUPS).solve(0, j) for j in range(len(THRESHOLDS))]
        )
        for table in (rows, left)
    ]
    moved = np.abs(sums[0] - sums[1])
    assert (moved <= np.ceil((1 + gap) * THRESHOLDS.units)).all()
    if not gap:
        assert (sums[0] >= sums[1]).all()
        apart = np.abs((sums[0] - sums[1])[:, None] - (sums[0] - sums[1])[None, :])
        assert (apart <= np.maximum(THRESHOLDS.units[:, None], THRESHOLDS.units[None, :])).all()


def test_a_unit_at_its_capacity_everywhere_is_hidden_at_every_threshold() -> None:
    """In exact numbers of steps, whatever the gap: what the proof of `capacities_of` says."""
    for reached, groups in ((1, 25), (2, 50), (3, 7), (24, 25), (1, 2), (990, 1000)):
        for gaussian in (False, True):
            _check_capacity(reached, groups, gaussian)


def _check_capacity(reached: int, groups: int, gaussian: bool) -> None:
    capacities = capacities_of((("few", reached), ("many", groups)), None, groups, gaussian)
    factor = dict(capacities.factors)
    assert factor["many"] == 1 << CAPACITY_BITS
    for tau in LONG.units.tolist():
        for gap in (0.0, 0.01):
            noise = ThresholdNoise(tau, gap, Fraction(1))
            capacity, rest = divmod(tau * factor["few"], 1 << CAPACITY_BITS)
            assert rest == 0
            assert capacity % noise.step == 0
            steps = math.ceil((capacity + Fraction(gap) * tau) / noise.step)
            if gaussian:
                assert reached * steps**2 <= groups * noise.sensitivity**2
            else:
                assert reached * steps <= groups * noise.sensitivity
    most = math.sqrt(groups / reached) if gaussian else groups / reached
    assert capacity <= tau * most <= capacity + tau / 1024


@pytest.mark.parametrize("seed", sampled(range(4), 1))
def test_large_groups_and_long_ladders_have_the_values_of_the_program(seed: int) -> None:
    """By the flow, which small groups do without, and where values are those of a larger threshold scaled down."""
    pick = np.random.default_rng(seed)
    size, thresholds = 300, Thresholds(-20, 8)
    customers, parts = pick.integers(0, 12, size).tolist(), pick.integers(0, 60, size).tolist()
    weight = pick.integers(ONE >> 12, ONE, size)
    with_part = [None if pick.random() < 0.1 else part for part in parts]
    owners = [owner("customer", customers), owner("part", with_part, np.int64)]
    capacities = Capacities((("customer", int(pick.integers(1 << CAPACITY_BITS, 40 << CAPACITY_BITS))),))
    coded = encode(join_tuples(owners, [weight]))
    answers = [truncate(coded, 0, thresholds, gap, capacities=capacities) for gap in (0.0, GAP)]
    sets = [
        (frozenset({customer} if missing else {customer, 12 + part}), int(one))
        for customer, part, missing, one in zip(customers, parts, owners[1].missing.tolist(), weight, strict=True)
    ]
    for j, tau in enumerate(thresholds.units.tolist()):
        own = tau * dict(capacities.factors)["customer"] >> CAPACITY_BITS
        best, slack = optimum(program(sets, [own] * 12 + [tau] * 60)), 1e-6 * own
        exact, certified = (answer.solve(0, j) for answer in answers)
        assert best - 1 - slack <= exact <= best + slack
        assert best - GAP * tau - slack <= certified <= best + slack


def test_one_unit_of_the_kind_that_reaches_few_may_fill_a_group() -> None:
    """The gain: 25 rows of one customer count in full where each part has one."""
    rows = [Row(0, part, 0, ONE) for part in range(UNITS)]
    pure = capacities_of((("customer", 1), ("part", GROUPS)), None, GROUPS, gaussian=False)
    at_one = THRESHOLDS.units.tolist().index(ONE)
    assert truncated(rows, pure, 0.0).solve(0, at_one) == UNITS * ONE
    assert truncated(rows, Capacities(), 0.0).solve(0, at_one) == ONE
