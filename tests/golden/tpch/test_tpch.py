"""The 22 queries of TPC-H: the table of verdicts. tests/golden/test_executed.py executes what is answered."""

from __future__ import annotations

import pytest

from tests.golden.tpch.queries import NUMBERS, adapted, outcome, published, working
from tests.golden.tpch.write_table import TABLE, table, verdict

AS_IT_IS = {1, 4, 5, 6, 7, 8, 9, 12, 14, 16, 19}
ADAPTED = {3, 10, 11, 17}


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("number", NUMBERS)
def test_verdict(number: int) -> None:
    expected = "works as it is" if number in AS_IT_IS else "works adapted" if number in ADAPTED else "refused"
    assert verdict(number) == expected, outcome(published(number)).refusal


@pytest.mark.parametrize("number", sorted(ADAPTED))
def test_the_adapted_text_works(number: int) -> None:
    text = adapted(number)
    assert text is not None and text.startswith("-- ")
    assert outcome(text).refusal is None


@pytest.mark.parametrize("number", sorted(set(NUMBERS) - AS_IT_IS))
def test_a_refusal_says_where_and_why(number: int) -> None:
    refusal = outcome(published(number)).refusal
    assert refusal is not None
    assert refusal.position is not None
    assert refusal.hint


@pytest.mark.parametrize(("number", "determined"), [(4, False), (16, True)])
def test_what_a_person_determines(number: int, determined: bool) -> None:
    """A customer has many orders; a supplier is one supplier."""
    plan = outcome(adapted(number) or "").plan
    assert plan is not None
    (release,) = plan.releases
    assert release.distinct is not None
    assert release.determined is determined


def test_what_is_executed_is_what_is_answered() -> None:
    """tests/golden/test_executed.py takes its texts from here."""
    assert len(working()) == len(AS_IT_IS | ADAPTED)
