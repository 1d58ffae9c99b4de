import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.truncation.programs import presolve as module
from privacy.truncation.programs.presolve import presolve
from privacy.truncation.programs.presolve_kernels import ascends
from privacy.units import MAX_UNITS
from tests.unit.privacy.truncation.instances import Tuple, program


def _tuples(*pairs: tuple[set[int], int]) -> list[Tuple]:
    return [(frozenset(owners), weight) for owners, weight in pairs]


def test_slack_units_drop_out_and_their_tuples_count_in_full() -> None:
    done = presolve(program(_tuples(({0, 1}, 3), ({1, 2}, 4)), [9, 9, 9]))
    assert (done.settled, done.core) == (7, None)


def test_a_unit_alone_is_filled_first_and_ends_its_other_tuples() -> None:
    # Unit 0 is filled by its own tuple, so the shared one is worth nothing and unit 1 becomes slack.
    done = presolve(program(_tuples(({0}, 10), ({0, 1}, 5), ({1}, 3)), [6, 6]))
    assert (done.settled, done.core) == (9, None)


def test_a_chain_collapses_from_its_ends() -> None:
    chain = _tuples(*[({i, i + 1}, 4) for i in range(20)])
    done = presolve(program(chain, [4] * 21))
    assert (done.settled, done.core) == (40, None)


def test_a_triangle_is_left_to_the_solver_with_equal_sets_merged() -> None:
    triangle = _tuples(({0, 1}, 2), ({1, 2}, 2), ({0, 2}, 2), ({0, 1}, 1), ({5, 6}, 3))
    done = presolve(program(triangle, [3] * 7))
    assert done.settled == 3
    assert done.core is not None
    assert (done.core.weights.tolist(), done.core.caps.tolist()) == ([3, 2, 2], [3, 3, 3])
    assert done.core.incidence.units.tolist() == [0, 1, 0, 2, 1, 2]


@pytest.mark.parametrize("rounds", [1, 2, 64])
def test_no_tuple_of_the_core_is_above_its_smallest_cap_when_the_rounds_run_out(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_ROUNDS", rounds)
    triangle = _tuples(*[({0, 1}, 5)] * 100, ({1, 2}, 5), ({0, 2}, 4))
    core = presolve(program(triangle, [5, 6, 7])).core
    assert core is not None
    assert (core.weights.tolist(), core.caps.tolist()) == ([5, 4, 5], [5, 6, 7])


def test_weights_above_every_cap_do_not_overflow() -> None:
    huge = _tuples(*[({0}, MAX_UNITS)] * 40, *[({1, 2}, MAX_UNITS)] * 40)
    done = presolve(program(huge, [MAX_UNITS // 2] * 3))
    assert (done.settled, done.core) == (2 * (MAX_UNITS // 2), None)


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


def test_zero_weights_and_zero_caps_vanish() -> None:
    done = presolve(program(_tuples(({0, 1}, 0), ({1, 2}, 7), ({2, 3}, 7)), [5, 0, 5, 4]))
    assert (done.settled, done.core) == (4, None)


def test_the_order_of_tuples_does_not_change_the_core() -> None:
    triangle = _tuples(({0, 1}, 2), ({1, 2}, 2), ({0, 2}, 2), ({0, 1}, 1))
    first, second = presolve(program(triangle, [3] * 3)).core, presolve(program(triangle[::-1], [3] * 3)).core
    assert first is not None
    assert second is not None
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.incidence.units, second.incidence.units)


def _many(seed: int, width: int, units: int, m: int = 400) -> list[Tuple]:
    """Different sets of one to so many units, sorted."""
    random = np.random.default_rng(seed)
    sets = {frozenset(random.choice(units, random.integers(1, width + 1), replace=False).tolist()) for _ in range(m)}
    return [(frozenset(one), int(random.integers(1, 9))) for one in sorted(sorted(one) for one in sets)]


@pytest.mark.parametrize(("width", "units"), [(3, 12), (4, 30), (9, 300)])
@pytest.mark.parametrize("seed", range(5))
def test_tuples_that_come_sorted_leave_the_core_of_the_same_in_any_order(seed: int, width: int, units: int) -> None:
    tuples = _many(seed, width, units)  # of the widest, no key holds all units
    caps = np.random.default_rng(seed).integers(1, 12, units).tolist()
    shuffled = [tuples[i] for i in np.random.default_rng(seed).permutation(len(tuples))]
    known, compared = presolve(program(tuples, caps)), presolve(program(shuffled, caps))
    assert known.settled == compared.settled
    assert (known.core is None) == (compared.core is None)
    if known.core is None or compared.core is None:
        return
    rows = [known.core.incidence.units[a:b].tolist() for a, b in _ends(known.core.incidence.indptr)]
    assert rows == sorted(rows)
    assert len({tuple(row) for row in rows}) == len(rows)
    assert np.array_equal(known.core.weights, compared.core.weights)
    assert np.array_equal(known.core.caps, compared.core.caps)
    assert np.array_equal(known.core.incidence.units, compared.core.incidence.units)
    assert np.array_equal(known.core.incidence.indptr, compared.core.incidence.indptr)


def _ends(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))


@pytest.mark.parametrize(
    ("tuples", "ascending"),
    [
        ([({0, 1}, 1), ({0, 1, 2}, 1), ({0, 2}, 1), ({1}, 1)], True),
        ([({0, 1}, 1), ({0, 1}, 1)], False),
        ([({0, 1, 2}, 1), ({0, 1}, 1)], False),
        ([({0, 2}, 1), ({0, 1, 2}, 1)], False),
        ([({1}, 1), ({0, 1}, 1)], False),
        ([], True),
    ],
)
def test_tuples_ascend_where_each_is_after_the_one_before(
    tuples: list[tuple[set[int], int]], ascending: bool
) -> None:
    incidence = program(_tuples(*tuples), [9, 9, 9]).incidence
    assert ascends(incidence.indptr, incidence.units) == ascending
