import numpy as np

from privacy.truncation.programs.incidence import fair_share
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import program


def test_sums_and_extremes_along_both_directions() -> None:
    incidence = program(
        [(frozenset({0, 2}), 1), (frozenset({2}), 1), (frozenset({0, 1, 2}), 1)], [1, 1, 1, 1]
    ).incidence
    assert incidence.unit_sums(np.array([1, 10, 100])).tolist() == [101, 100, 111, 0]
    assert incidence.row_sums(np.array([1, 10, 100, 0])).tolist() == [101, 100, 111]
    assert incidence.row_min(np.array([0.5, 0.25, 1.0, 0.0])).tolist() == [0.5, 1.0, 0.25]
    assert (incidence.degrees.tolist(), incidence.owners.tolist()) == ([2, 1, 3, 0], [2, 1, 3])


def test_unit_sums_saturate_on_the_way_that_cannot_overflow() -> None:
    incidence = program([(frozenset({0}), 1)] * 5 + [(frozenset({1}), 1)], [1, 1]).incidence
    assert incidence.unit_sums(np.array([MAX_UNITS] * 5 + [7])).tolist() == [MAX_UNITS, 7]


def test_an_empty_incidence_has_empty_sums() -> None:
    incidence = program([], [5]).incidence
    nothing = np.empty(0, np.int64)
    assert incidence.unit_sums(nothing).tolist() == [0]
    assert len(incidence.row_sums(np.array([1]))) == len(incidence.row_min(np.array([1.0]))) == 0


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


def test_a_demand_too_large_to_know_gets_nothing() -> None:
    incidence = program([(frozenset({0}), 1)] * 5, [1]).incidence
    assert not fair_share(incidence, np.full(5, MAX_UNITS), np.array([ONE])).any()
