"""What a refusal must say, and where."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.errors import PlannerError


def assert_refused(
    ask: Callable[[str], object],
    sql: str,
    error: type[PlannerError],
    words: str,
    at: str | None = None,
    hint: str | None = None,
) -> None:
    """Is a statement refused by an error whose message has these words, in whatever case?

    Args:
      ask: refuses it.
      sql, error, words: as above.
      at: how the statement goes on where the error points; None where that is all the same.
      hint: words of its hint.
    """
    with pytest.raises(error) as caught:
        ask(sql)
    assert words.lower() in caught.value.message.lower()
    if at is not None:
        assert caught.value.position is not None
        assert sql[caught.value.position - 1 :].startswith(at)
    assert hint is None or hint in (caught.value.hint or "")
