import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import from_sets, join_tuples, ones, owner


def test_no_gap_means_the_closed_form_and_a_gap_the_programs() -> None:
    alone, shared = encode(from_sets(ones([1], [2]))), encode(from_sets(ones((1, 2), (2, 3))))
    assert isinstance(truncate(alone, 0, Ladder(0, 2), 0.0), TabulatedAnswer)
    assert isinstance(truncate(shared, 0, Ladder(0, 2), 0.01), LazyAnswer)


def test_each_release_has_its_own_weights() -> None:
    tuples = encode(join_tuples([owner("a", [1, 1]), owner("b", [1, 2])], [[ONE, ONE], [0, 3 * ONE]]))
    first, second = (truncate(tuples, release, Ladder(0, 2), 0.01) for release in (0, 1))
    assert [first.solve(0, j) // ONE for j in range(3)] == [1, 2, 2]
    assert [second.solve(0, j) // ONE for j in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("release", [-1, 1])
def test_an_unknown_release_is_refused(release: int) -> None:
    with pytest.raises(InvalidParameter):
        truncate(encode(from_sets(ones([1]))), release, Ladder(), 0.0)


def test_two_owners_without_a_gap_are_exact_and_rounded_down() -> None:
    triangle = [(frozenset(pair), ONE + 1) for pair in ((1, 2), (2, 3), (3, 1))]
    answer = truncate(encode(from_sets(triangle)), 0, Ladder(-1, 3), 0.0)
    assert answer.gap == 0
    assert [answer.solve(0, j) for j in range(5)] == [3 * ONE // 4, 3 * ONE // 2, 3 * ONE, 3 * ONE + 3, 3 * ONE + 3]
    odd = [(frozenset(pair), 5) for pair in ((1, 2), (2, 3), (3, 1))]
    low, high = (bound[0, 0] for bound in truncate(encode(from_sets(odd)), 0, Ladder(-20, -20), 0.0).bounds())
    assert low == high == 15


def test_three_owners_without_a_gap_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        truncate(encode(from_sets(ones((1, 2, 3)))), 0, Ladder(), 0.0)
