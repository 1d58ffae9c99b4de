"""The published attack on Take: a toy that charges it as stable falls for it, and SQL has no way to it."""

from __future__ import annotations

import numpy as np
import pytest

from planner.errors import UnsupportedSQL
from tests.audit.auditing import FAILURE_PROBABILITY, plain
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.support.papers.stability import Bernoulli, WithoutReplacement
from tests.support.planning import bound
from tests.support.simulated_entropy import SimulatedEntropy
from tests.support.unsound_take import Rows, swollen

PRESENT, ABSENT = Rows((1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), Rows((1, 2, 3, 4, 5, 6, 8, 9, 10))
EPSILON, RUNS = 0.01, 400


def outputs(rows: Rows) -> Outputs:
    entropy = SimulatedEntropy(len(rows.rows))
    asked = swollen(rows, 7, 1000)
    told = [asked.count(EPSILON, entropy) for _ in range(RUNS)]
    assert {charge for _, charge in told} == {EPSILON}
    return plain(np.array([count for count, _ in told]))


def test_the_toy_tells_whether_one_row_is_there_at_a_hundredth_of_epsilon() -> None:
    assert epsilon_lower_bound(outputs(PRESENT), outputs(ABSENT), FAILURE_PROBABILITY) > 100 * EPSILON


def test_what_replaces_take_is_charged_for_the_row_that_makes_room() -> None:
    assert WithoutReplacement(1).sigma(EPSILON) > EPSILON
    assert Bernoulli(0.5).sigma(EPSILON) < EPSILON


def test_the_sql_surface_takes_no_rows_inside_a_question() -> None:
    for inside in (
        "SELECT o_orderkey FROM orders LIMIT 1",
        "SELECT o_orderkey FROM orders ORDER BY o_orderkey LIMIT 1",
        "SELECT o_orderkey FROM orders FETCH FIRST 1 ROW ONLY",
        "SELECT o_orderkey FROM orders OFFSET 1",
        "SELECT o_orderkey FROM orders WHERE o_orderkey = 7 UNION ALL SELECT 999 LIMIT 1",
    ):
        with pytest.raises(UnsupportedSQL):
            bound(f"SELECT count(*) FROM ({inside}) AS taken")
