"""The 22 queries of TPC-H: the table of verdicts. tests/golden/test_executed.py executes what is answered."""

from __future__ import annotations

from tests.golden.refusal_lines import assert_plain_words
from tests.golden.tpch.queries import NUMBERS, adapted, outcome, published
from tests.golden.tpch.write_table import TABLE, table, verdict

AS_IT_IS = {1, 4, 5, 6, 7, 8, 9, 12, 14, 16, 19}
ADAPTED = {3, 10, 11, 17}


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


def test_verdicts_and_what_refusals_say() -> None:
    for number in NUMBERS:
        expected = "works as it is" if number in AS_IT_IS else "works adapted" if number in ADAPTED else "refused"
        refusal = outcome(published(number)).refusal
        assert verdict(number) == expected, (number, refusal)
        assert (refusal is None) == (number in AS_IT_IS), number
        if refusal is not None:
            assert refusal.hint, number
            assert_plain_words(published(number), refusal)
        text = adapted(number)
        assert text is None or text.startswith("-- "), number


def test_what_a_person_determines() -> None:
    """A customer has many orders; a supplier is one supplier."""
    for number, determined in ((4, False), (16, True)):
        plan = outcome(adapted(number) or "").plan
        assert plan is not None
        (release,) = plan.releases
        assert release.distinct is not None
        assert release.determined is determined
