"""The statements of two more worlds: the table of what becomes of them, and refusals that say what to do."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSetting
from tests.golden.collected.more.worlds import WORLDS, outcomes, statements
from tests.golden.collected.more.write_table import TABLE, table
from tests.golden.refusal_lines import assert_plain_words


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("world", WORLDS)
def test_a_refusal_says_where_and_what_to_do(world: str) -> None:
    for name, one in outcomes(world).items():
        if one.refusal is not None and not isinstance(one.refusal, InvalidSetting):
            assert one.refusal.hint or one.refusal.position is not None, name
            assert_plain_words(statements(world)[name].sql, one.refusal)
