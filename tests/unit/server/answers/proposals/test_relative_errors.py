"""How far an answer is expected to be off, from the analyst's own earlier answers and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

from server.answers.proposals.expectation import Expected, expected
from server.backends.columns import Domain
from server.lru_cache import LruCache
from server.query import QueryRequest, RelativeError
from tests.unit.server.answers.proposals.test_propose import COUNT, Office, half_width

BY_PRIORITY = "SELECT r_name, count(*) FROM orders JOIN customer ON o_custkey = c_custkey\
 JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY r_name"


def told(office: Any, sql: str = COUNT, epsilon: float = 1.0, analyst: str = "ada") -> Expected:
    question = office.question(QueryRequest(analyst, sql, epsilon=epsilon))
    return expected(office.ledger, question, analyst, LruCache(1))


def found(office: Any, sql: str = COUNT, epsilon: float = 1.0, analyst: str = "ada") -> tuple[RelativeError, ...]:
    return told(office, sql, epsilon, analyst).relative_errors


def test_it_is_the_noise_over_the_value_that_was_told() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    (error,) = found(office)
    expected = half_width(office, 1.0, 16.0) / 15_000
    assert error.column == "count" and error.typical == pytest.approx(expected, rel=0.05) == error.worst


def test_more_noise_is_expected_of_a_smaller_epsilon() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    (small,), (large,) = found(office, epsilon=0.1), found(office, epsilon=2.0)
    assert small.typical is not None and large.typical is not None and small.typical > 10 * large.typical


def test_more_epsilon_promises_no_more_than_the_answer_that_was_given() -> None:
    """Thresholds rise with epsilon, so that the noise at those of before is the lower end of a range."""
    office = Office()
    reach = half_width(office, 0.1, 16.0)
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0, reach=reach)
    (more,), (less,) = found(office, epsilon=4.0), found(office, epsilon=0.05)
    assert more.typical is not None and less.typical is not None
    assert more.most is not None and less.most is not None
    assert more.most == pytest.approx(reach / 15_000) and more.most > 10 * more.typical
    assert less.most == less.typical and less.most > more.most


def test_the_smallest_row_is_known_worst_and_one_of_nothing_not_at_all() -> None:
    office = Office()
    names = Domain((("AFRICA", "AMERICA", "ASIA"),))
    office.tell("ada", BY_PRIORITY, 0.5, [100.0, 10_000.0, 20_000.0], 16.0, names)
    (error,) = found(office, BY_PRIORITY)
    assert error.typical is not None and error.worst == pytest.approx(100 * error.typical, rel=0.05)
    office.tell("grace", BY_PRIORITY, 0.5, [0.0, 10_000.0, 20_000.0], 16.0, names)
    (error,) = found(office, BY_PRIORITY, analyst="grace")
    assert error.typical is not None and error.worst is None


def test_rows_that_will_be_marked_cut_are_foretold_and_fewer_with_more_epsilon() -> None:
    office = Office()
    assert told(office).clipped is None
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0, reach=half_width(office, 0.1, 16.0), signal=1.0)
    assert told(office, epsilon=0.1).clipped == 1.0
    assert told(office, epsilon=4.0).clipped == 0.0


def test_nothing_is_said_where_nothing_was_told_or_only_to_others() -> None:
    office = Office()
    assert found(office) == ()
    office.tell("grace", COUNT, 0.1, [15_000.0], 16.0)
    assert found(office) == ()
    assert found(office, "SELECT max(l_quantity) FROM lineitem") == ()
