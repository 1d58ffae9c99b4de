"""Programs: sums along their incidence, what the presolve settles, and what a certificate believes."""

from __future__ import annotations

import itertools
from itertools import pairwise
from operator import attrgetter

import numpy as np
import pytest

from privacy.truncation.programs import presolve as module
from privacy.truncation.programs.certificate import Certificate, certify
from privacy.truncation.programs.presolve import ascends, presolve
from privacy.truncation.programs.program import PreparedProgram, fair_share
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import Tuple, program


def test_sums_and_extremes_along_both_directions() -> None:
    incidence = program(
        [(frozenset({0, 2}), 1), (frozenset({2}), 1), (frozenset({0, 1, 2}), 1)], [1, 1, 1, 1]
    ).incidence
    assert incidence.unit_sums(np.array([1, 10, 100])).tolist() == [101, 100, 111, 0]
    assert incidence.row_sums(np.array([1, 10, 100, 0])).tolist() == [101, 100, 111]
    assert incidence.row_min(np.array([0.5, 0.25, 1.0, 0.0])).tolist() == [0.5, 1.0, 0.25]
    assert (incidence.degrees.tolist(), incidence.owners.tolist()) == ([2, 1, 3, 0], [2, 1, 3])


def test_unit_sums_saturate_on_the_way_that_cannot_overflow_and_an_empty_incidence_has_empty_sums() -> None:
    incidence = program([(frozenset({0}), 1)] * 5 + [(frozenset({1}), 1)], [1, 1]).incidence
    assert incidence.unit_sums(np.array([MAX_UNITS] * 5 + [7])).tolist() == [MAX_UNITS, 7]
    empty = program([], [5]).incidence
    assert empty.unit_sums(np.empty(0, np.int64)).tolist() == [0]
    assert len(empty.row_sums(np.array([1]))) == len(empty.row_min(np.array([1.0]))) == 0


def test_fair_shares_never_exceed_the_spare_capacity() -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        tuples = [(frozenset(random.integers(0, 12, 3).tolist()), 1) for _ in range(40)]
        incidence = program(tuples, [1] * 12).incidence
        wanted = random.integers(0, 2 ** int(random.integers(1, 50)), 40)
        spare = random.integers(0, 2 ** int(random.integers(1, 50)), 12)
        given = fair_share(incidence, wanted, spare)
        assert np.all((given >= 0) & (given <= wanted))
        assert np.all(incidence.unit_sums(given) <= spare)
    incidence = program([(frozenset({0}), 1)] * 5, [1]).incidence
    assert not fair_share(incidence, np.full(5, MAX_UNITS), np.array([ONE])).any(), "a demand too large to know"


def _tuples(*pairs: tuple[set[int], int]) -> list[Tuple]:
    return [(frozenset(owners), weight) for owners, weight in pairs]


def test_what_is_settled_without_a_solver() -> None:
    slack = _tuples(({0, 1}, 3), ({1, 2}, 4))
    # Unit 0 is filled by its own tuple, so the shared one is worth nothing and unit 1 becomes slack.
    alone = _tuples(({0}, 10), ({0, 1}, 5), ({1}, 3))
    chain = _tuples(*[({i, i + 1}, 4) for i in range(20)])
    huge = _tuples(*[({0}, MAX_UNITS)] * 40, *[({1, 2}, MAX_UNITS)] * 40)
    zeros = _tuples(({0, 1}, 0), ({1, 2}, 7), ({2, 3}, 7))
    for name, tuples, caps, settled in (
        ("slack units drop out and their tuples count in full", slack, [9] * 3, 7),
        ("a unit alone is filled first and ends its other tuples", alone, [6, 6], 9),
        ("a chain collapses from its ends", chain, [4] * 21, 40),
        ("weights above every cap do not overflow", huge, [MAX_UNITS // 2] * 3, 2 * (MAX_UNITS // 2)),
        ("zero weights and zero caps vanish", zeros, [5, 0, 5, 4], 4),
    ):
        done = presolve(program(tuples, caps))
        assert (done.settled, done.core) == (settled, None), name


def test_a_triangle_is_left_to_the_solver_with_equal_sets_merged() -> None:
    triangle = _tuples(({0, 1}, 2), ({1, 2}, 2), ({0, 2}, 2), ({0, 1}, 1), ({5, 6}, 3))
    done = presolve(program(triangle, [3] * 7))
    assert done.settled == 3
    assert done.core is not None
    assert (done.core.weights.tolist(), done.core.caps.tolist()) == ([3, 2, 2], [3, 3, 3])
    assert done.core.incidence.units.tolist() == [0, 1, 0, 2, 1, 2]


def test_no_tuple_of_the_core_is_above_its_smallest_cap_when_the_rounds_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triangle = _tuples(*[({0, 1}, 5)] * 100, ({1, 2}, 5), ({0, 2}, 4))
    for rounds in (1, 2, 64):
        monkeypatch.setattr(module, "_MAX_ROUNDS", rounds)
        core = presolve(program(triangle, [5, 6, 7])).core
        assert core is not None
        assert (core.weights.tolist(), core.caps.tolist()) == ([5, 4, 5], [5, 6, 7]), rounds


def test_a_unit_whose_tuples_all_share_a_tighter_one_drops_out() -> None:
    # Unit 3 is in tuples of unit 0 only, so unit 0's cap is all it ever needs; then both tuples are equal.
    tuples = _tuples(({0, 1, 3}, 3), ({0, 1}, 3), ({1, 2}, 3), ({0, 2}, 3))
    core = presolve(program(tuples, [3, 3, 3, 3])).core
    assert core is not None
    assert (core.weights.tolist(), len(core.caps)) == ([3, 3, 3], 3)
    roomier = presolve(program([(frozenset({0, 1, 3}), 3), (frozenset({0, 2, 3}), 3), *tuples], [3, 3, 3, 2])).core
    assert roomier is not None
    assert len(roomier.caps) == 4  # a tighter cap than unit 0's is not dominated by it


def test_of_two_units_with_the_same_tuples_one_stays() -> None:
    triangle = _tuples(({0, 1, 4, 5}, 3), ({1, 2}, 3), ({0, 2}, 3))
    core = presolve(program(triangle, [3, 3, 3, 9, 2, 2])).core
    assert core is not None
    assert (core.weights.tolist(), core.caps.tolist()) == ([2, 3, 3], [3, 3, 3])


def test_the_order_of_tuples_does_not_change_the_core() -> None:
    triangle = _tuples(({0, 1}, 2), ({1, 2}, 2), ({0, 2}, 2), ({0, 1}, 1))
    first, second = presolve(program(triangle, [3] * 3)).core, presolve(program(triangle[::-1], [3] * 3)).core
    assert first is not None
    assert second is not None
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.incidence.units, second.incidence.units)


def test_a_core_that_is_taken_for_sorted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Unit 1 never binds, so that the rest of the first tuple comes after what follows it.
    tuples = _tuples(({0, 1, 3}, 2), ({0, 2, 4}, 2), ({2, 3}, 2), ({3, 4}, 2), ({0, 4}, 2))
    core = presolve(program(tuples, [3, 9, 3, 3, 3])).core
    assert core is not None
    assert ascends(core.incidence.indptr, core.incidence.units)
    monkeypatch.setattr(module, "ascends", lambda indptr, units: True)  # the mutant
    taken = presolve(program(tuples, [3, 9, 3, 3, 3])).core
    assert taken is not None
    assert not ascends(taken.incidence.indptr, taken.incidence.units)


def _many(seed: int, width: int, units: int, m: int = 400) -> list[Tuple]:
    """Different sets of one to so many units, sorted."""
    random = np.random.default_rng(seed)
    sets = {frozenset(random.choice(units, random.integers(1, width + 1), replace=False).tolist()) for _ in range(m)}
    return [(frozenset(one), int(random.integers(1, 9))) for one in sorted(sorted(one) for one in sets)]


def test_tuples_that_come_sorted_leave_the_core_of_the_same_in_any_order() -> None:
    cores = 0
    for (width, units), seed in itertools.product(((3, 12), (4, 30), (9, 300)), range(5)):
        tuples = _many(seed, width, units)  # of the widest, no key holds all units
        caps = np.random.default_rng(seed).integers(1, 12, units).tolist()
        shuffled = [tuples[i] for i in np.random.default_rng(seed).permutation(len(tuples))]
        known, compared = presolve(program(tuples, caps)), presolve(program(shuffled, caps))
        assert known.settled == compared.settled
        assert (known.core is None) == (compared.core is None)
        if known.core is None or compared.core is None:
            continue
        cores += 1
        indptr = known.core.incidence.indptr
        rows = [known.core.incidence.units[a:b].tolist() for a, b in pairwise(indptr.tolist())]
        assert rows == sorted(rows)
        assert len({tuple(row) for row in rows}) == len(rows)
        for name in ("weights", "caps", "incidence.units", "incidence.indptr"):
            assert np.array_equal(attrgetter(name)(known.core), attrgetter(name)(compared.core)), name
    assert cores > 5


def test_tuples_ascend_where_each_is_after_the_one_before() -> None:
    for tuples, ascending in [
        ([({0, 1}, 1), ({0, 1, 2}, 1), ({0, 2}, 1), ({1}, 1)], True),
        ([({0, 1}, 1), ({0, 1}, 1)], False),
        ([({0, 1, 2}, 1), ({0, 1}, 1)], False),
        ([({0, 2}, 1), ({0, 1, 2}, 1)], False),
        ([({1}, 1), ({0, 1}, 1)], False),
        ([], True),
    ]:
        incidence = program(_tuples(*tuples), [9, 9, 9]).incidence
        assert ascends(incidence.indptr, incidence.units) == ascending, (tuples, ascending)


def _triangle(weight: int = ONE) -> PreparedProgram:
    """Optimum 1.5: every tuple at one half, every dual at one half."""
    return program([(frozenset(pair), weight) for pair in ((0, 1), (1, 2), (0, 2))], [weight] * 3)


HALF = np.full(3, 0.5)
NONSENSE = [np.full(3, 9.0), np.full(3, np.nan), np.array([np.inf, -np.inf, 0.3]), np.full(3, -1.0), np.zeros(3)]


def _gap(x: object, y: object) -> float:
    proof = certify(_triangle(), np.array(x), np.array(y))
    optimum = 3 * ONE // 2 << proof.bits
    assert proof.value <= optimum <= proof.upper
    return (proof.upper - proof.value) / (ONE << proof.bits)


def test_the_optimum_certifies_itself_exactly() -> None:
    assert _gap(HALF, HALF) == 0.0
    # a wrong dual is not believed
    for wrong in [np.full(3, 9.0), np.full(3, np.nan), np.full(3, -1.0), np.zeros(3)]:
        assert _gap(HALF, wrong) >= 1.0
    # a wrong primal is not believed
    assert _gap([1.0, 0.0, 0.0], HALF) == pytest.approx(0.5)


def test_nonsense_only_loosens_the_bounds() -> None:
    for x in NONSENSE:
        for y in NONSENSE:
            _gap(x, y)  # asserts that both bounds hold
    # a slightly infeasible point is repaired
    assert _gap(HALF + 1e-6, HALF) < 1e-5
    # thresholds of a few units lose nothing to rounding
    proof = certify(_triangle(3), HALF, HALF)
    assert proof.within(0)
    assert (proof.floor(), proof.ceiling()) == (4, 5)


def test_weights_far_above_every_cap_count_for_no_more_than_the_cap() -> None:
    for weight in [3 << 20, 1 << 21, (1 << 21) + 1, 1 << 29, MAX_UNITS]:
        cap = 1024
        pairs = [(frozenset({0, 1}), weight * cap if weight < MAX_UNITS else weight), (frozenset({1, 2}), cap)]
        proof = certify(program([*pairs, (frozenset({0, 2}), cap)], [cap] * 3), HALF, HALF)
        assert proof.within(0), weight
        assert proof.value == 3 * cap // 2 << proof.bits, weight


def test_caps_near_the_end_of_int64_do_not_overflow() -> None:
    cap = MAX_UNITS // 2
    huge = program([(frozenset({0, 1, 2}), cap)] * 50 + [(frozenset({0}), cap)] * 50, [cap] * 3)
    proof = certify(huge, np.full(100, 1.0), np.array([1.0, 0.0, 0.0]))
    assert proof.value <= cap <= proof.upper
    assert proof.upper == cap


def test_proofs_combine_and_shift() -> None:
    good_value, good_upper = Certificate(8, 20, 1), Certificate(2, 9, 1)
    proof = good_value.joined(good_upper).plus(10)
    assert (proof.value, proof.upper) == (28, 29)
    assert (proof.within(0), proof.within(1)) == (False, True)
    assert (proof.floor(), proof.ceiling(), proof.floor(1), proof.ceiling(1)) == (14, 15, 7, 8)
