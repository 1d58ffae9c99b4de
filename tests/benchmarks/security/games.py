"""Membership games: what an adversary who spends a whole budget can tell, and whether a broken proxy is caught."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from tests.benchmarks.blocks import Blocks, spans
from tests.benchmarks.parts import Measured
from tests.benchmarks.rows import Row
from tests.benchmarks.security.kept import FOLDER, blocks
from tests.security.membership.broken_server import PLANTED
from tests.security.membership.games import Score, allowed, play_games, room, total

_GAMES, _QUICK_GAMES = 2_000, 60
_BROKEN_GAMES = {"noise": 300, "sensitivity": 1_500}
"""So many that a broken proxy is above what is allowed by more than chance."""

_QUICK_BROKEN = ("noise",)
_STRONGEST = "one count"


_BLOCK = 20


def games(quick: bool) -> Measured:
    """Rows of each strategy, of all together, and of each broken proxy, which has to be above what is allowed."""
    count = _QUICK_GAMES if quick else int(os.environ.get("GAMES", _GAMES))
    whole = blocks("games", count, "games", whole=count == _GAMES)
    _play(whole, spans(count, _BLOCK), None, 1, None)
    scores = _scores(whole)
    rows = [row for name, score in scores.items() for row in _rows(f"games: {name}", score)]
    if scores:
        rows += _rows("games: all", total(scores), least=None if quick else _GAMES)
        rows.append(Row("games: all", "answers beyond the budget", float(total(scores).beyond), "1", most=0))
    broken = {}
    for fault in _QUICK_BROKEN if quick else PLANTED:
        wanted = _BROKEN_GAMES[fault]
        broken[fault] = blocks(f"games-{fault}", wanted, f"games with broken {fault}", whole=not quick)
        _play(broken[fault], spans(wanted, _BLOCK), fault, 2, _STRONGEST)
        if score := _scores(broken[fault]).get(_STRONGEST):
            case = f"games: broken {fault}"
            rows.append(Row(case, "games", float(score.games), "1", least=wanted))
            rows.append(Row(case, "advantage", score.advantage, "1"))
            rows.append(Row(case, "advantage, at least", score.surely(), "1", least=allowed()))
    return Measured(rows, (whole, *broken.values()))


def _play(
    played: Blocks, each: Mapping[str, tuple[int, int]], fault: str | None, seed: int, only: str | None
) -> None:
    """Play what is missing, before proxies that are started once for all of it."""
    if next(played.missing(each), None) is None:
        return
    with room(FOLDER / "games" / (fault or "whole"), broken=fault) as proxies:
        for name, (first, count) in played.missing(each):
            scores = play_games(proxies, count, seed=seed, only=only, first=first)
            played.keep(name, {one: asdict(score) for one, score in scores.items()}, count)


def _scores(played: Blocks) -> dict[str, Score]:
    """Of each strategy, in all blocks."""
    found: dict[str, Score] = {}
    for block in played.kept.values():
        for name, score in block.items():
            found[name] = found.get(name, Score()) + Score(**score)
    return found


def _rows(case: str, score: Score, least: float | None = None) -> Iterator[Row]:
    yield Row(case, "games", float(score.games), "1", least)
    yield Row(case, "questions", float(score.asked), "1")
    yield Row(case, "advantage", score.advantage, "1")
    yield Row(case, "advantage, at least", score.surely(), "1", most=allowed())
