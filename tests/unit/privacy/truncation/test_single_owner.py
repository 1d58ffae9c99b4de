import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.single_owner import single_owner
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import from_sets

LADDER = Ladder(-20, 32)


def test_everybody_is_cut_at_the_threshold() -> None:
    tuples = [(frozenset({1}), 3 * ONE), (frozenset({1}), 4 * ONE), (frozenset({2}), ONE // 2)]
    values = single_owner(encode(from_sets(tuples)), 0, Ladder(-1, 4)).values
    assert (values / ONE).tolist() == [[1.0, 1.5, 2.5, 4.5, 7.5, 7.5]]


def test_it_agrees_with_the_sum_written_out() -> None:
    random = np.random.default_rng(5)
    m = 500
    tuples = [
        (frozenset({int(u)}), int(w))
        for u, w in zip(random.integers(0, 40, m), 2 ** random.integers(0, 45, m), strict=True)
    ]
    group = random.integers(0, 7, m).tolist()
    values = single_owner(encode(from_sets(tuples, group, 9)), 0, LADDER).values
    loads: dict[tuple[int, int], int] = {}
    for (owners, weight), g in zip(tuples, group, strict=True):
        (u,) = owners
        loads[g, u] = loads.get((g, u), 0) + weight
    for j, tau in enumerate(LADDER.units.tolist()):
        for g in range(9):
            assert values[g, j] == sum(min(tau, load) for (h, _), load in loads.items() if h == g)


def test_totals_saturate_instead_of_wrapping() -> None:
    values = single_owner(encode(from_sets([(frozenset({u}), MAX_UNITS) for u in range(5)])), 0, LADDER).values
    assert values[0, -1] == values[0, -2] == values[0, -3] == MAX_UNITS
    assert values[0, -4] == 5 * int(LADDER.units[-4])
    assert np.all(np.diff(values) >= 0)


def test_nothing_is_worth_nothing() -> None:
    assert not single_owner(encode(from_sets([])), 0, LADDER).values.any()


def test_two_owners_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        single_owner(encode(from_sets([(frozenset({1, 2}), ONE)])), 0, LADDER)


def test_many_groups_need_no_dense_table() -> None:
    tuples = [(frozenset({u}), ONE) for u in range(1000)]
    values = single_owner(encode(from_sets(tuples, list(range(0, 100_000, 100)), 100_000)), 0, Ladder(0, 2)).values
    assert values.shape == (100_000, 3)
    assert values.sum() == 3000 * ONE
