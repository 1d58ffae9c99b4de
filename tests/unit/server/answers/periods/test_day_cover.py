"""Which pieces an answer is put together from: those with the least noise for their days, never two of one day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.group_domains.day_conditions import Run, common_runs, without_runs
from planner.reuse.matching import Match
from server.answers.cached_outlines import Owned
from server.answers.periods.day_cover import ALL_CACHED_WIDER, WIDER, Cover, Covering, Horizon, predicted_tau
from server.answers.periods.day_pieces import CachedSource, Days, Piece
from server.backends.columns import Domain
from tests.support.released_plan import noisy_answer

FIRST, LAST = date(2024, 1, 1), date(2024, 4, 30)
ALL: Days = ((FIRST, LAST),)
FRESH = 10.0


def _run(first: int, last: int) -> Run:
    return date.fromordinal(FIRST.toordinal() + first), date.fromordinal(FIRST.toordinal() + last)


def _source(half: float, tau: float = 1.0, number: int = 1, days: Days = ALL) -> CachedSource:
    noisy = replace(noisy_answer([100.0], reach=half), tau=np.full(1, tau))
    owned = cast(Owned, SimpleNamespace(number=number, outline=SimpleNamespace(data_version=1)))
    return CachedSource(owned, Domain(()), cast(Match, SimpleNamespace(cached_days=days)), (noisy,), (), 1)


def _piece(days: Days, half: float, number: int = 1) -> Piece:
    source = _source(half, number=number, days=days)
    return Piece(source.noisy, 1, number, 1, (), days, np.zeros(1, np.int64), np.zeros(1, np.int64))


def _covering(*, adds: bool = True, fresh: float = FRESH) -> Covering:
    return Covering({(): ALL}, [()], lambda release, tau: fresh, [adds], Horizon(FIRST, LAST))


def _days(cover: Cover) -> list[Days]:
    return [piece.days for piece in cover.pieces]


def test_what_is_kept_of_all_days_is_taken_if_it_is_a_tenth_wider_at_most() -> None:
    kept = _piece(ALL, FRESH * ALL_CACHED_WIDER * 0.99)
    assert _days(_covering().cover([kept], WIDER)) == [ALL]
    wide = _covering().cover([_piece(ALL, FRESH * ALL_CACHED_WIDER * 1.01)], WIDER)
    assert wide.pieces == () and wide.fresh == {(): ALL}
    assert _days(_covering().cover([_piece(ALL, FRESH * 50)], wider=math.inf)) == [ALL]


def test_the_piece_with_the_least_noise_for_its_days_comes_first() -> None:
    long, months = _piece(((_run(0, 89)),), 8.0), [_piece((_run(30 * m, 30 * m + 29),), 7.0) for m in range(3)]
    cover = _covering().cover([*months, long], WIDER)
    assert _days(cover) == [(_run(0, 89),)]
    assert cover.fresh == {(): without_runs(ALL, [_run(0, 89)])} and cover.days == without_runs(ALL, [_run(0, 89)])


def test_parts_leave_room_for_what_is_to_be_measured() -> None:
    assert _covering().cover([_piece((_run(0, 89),), WIDER * FRESH * 0.95)], WIDER).pieces == ()


def test_numbers_that_are_no_sums_stand_alone() -> None:
    part = _piece((_run(0, 89),), 1.0)
    assert _covering(adds=False).cover([part], WIDER).pieces == ()
    assert _days(_covering(adds=False).cover([part, _piece(ALL, 1.0)], WIDER)) == [ALL]


@given(
    st.lists(st.tuples(st.integers(0, 110), st.integers(0, 40), st.floats(0.1, 12.0)), max_size=8),
    st.sampled_from([WIDER, math.inf]),
)
def test_no_day_is_in_two_pieces_and_none_is_forgotten(kept: Sequence[tuple[int, int, float]], wider: float) -> None:
    runs = [(_run(first, min(first + length, 119)), half) for first, length, half in kept]
    cover = _covering().cover([_piece((run,), half, number) for number, (run, half) in enumerate(runs)], wider)
    taken: Days = ()
    for days in _days(cover):
        assert not common_runs(taken, days)
        taken = common_runs([*taken, *days], ALL)
    assert without_runs(ALL, taken) == cover.days


def test_fewer_days_have_a_lower_threshold() -> None:
    """Between what comes evenly and what comes at once."""
    for days, least, most in [(120, 40.0, 40.0), (12, 4.0, 12.7), (60, 20.0, 28.3)]:
        sources = [_source(1.0, tau=40.0)]
        found = predicted_tau(sources, 0, (_run(0, days - 1),), Horizon(FIRST, date(2024, 4, 29)))
        assert found is not None and least <= found <= most, days
        near = [*sources, _source(1.0, tau=3.0, days=(_run(0, days - 1),))]
        assert (
            days == 120 or predicted_tau(near, 0, (_run(0, days - 1),), Horizon(FIRST, date(2024, 4, 29))) == 3.0
        ), days
        assert predicted_tau([], 0, ALL, Horizon(FIRST, LAST)) is None, days
