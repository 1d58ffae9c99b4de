"""Free questions without an answer are few, too, and are forgotten after an hour."""

from __future__ import annotations

import pytest

from server.errors import TooManyFailures
from server.workers.public_reads import MAX_UNANSWERED, WINDOW_S, UnansweredLimit


def test_an_hour_has_so_many() -> None:
    now = [0.0]
    limit = UnansweredLimit(lambda: now[0])
    for number in range(MAX_UNANSWERED):
        limit.check("ann")
        now[0] = float(number)
        limit.count("ann")
    with pytest.raises(TooManyFailures, match="failed within an hour") as refused:
        limit.check("ann")
    assert "in 60 min" in str(refused.value.hint)
    limit.check("bob")
    now[0] = WINDOW_S - 30.0
    with pytest.raises(TooManyFailures) as refused:
        limit.check("ann")
    assert "in 1 min" in str(refused.value.hint)
    now[0] = WINDOW_S
    limit.check("ann")
    now[0] = 2 * WINDOW_S
    limit.check("ann")
    assert not limit._times


def test_more_that_end_at_once_take_no_more_memory() -> None:
    limit = UnansweredLimit(lambda: 0.0)
    for _ in range(3 * MAX_UNANSWERED):
        limit.count("ann")
    assert len(limit._times["ann"]) == MAX_UNANSWERED
