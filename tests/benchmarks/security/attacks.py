"""The catalogue of attacks, against the naive proxy and the real one: how many were tried, and how many held."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.security.catalogue import CATALOGUE
from tests.security.game import AttackClass, play
from tests.security.neighbours import Pair, naive_pair, real_pair

_ROUNDS, _QUICK_ROUNDS, _NAIVE_ROUNDS = 100, 8, 2


def attacks(quick: bool) -> list[Row]:
    """Rows of each class, and of all together."""
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, naive_pair(Path(folder)) as naive:
        succeeded = {one.name: _count(one, naive, _NAIVE_ROUNDS, held=False) for one in CATALOGUE}
    with real_pair(Path(".noisegate") / "benchmarks" / "security") as real:
        held = {one.name: _count(one, real, rounds, held=True) for one in CATALOGUE}
    rows = [row for one in CATALOGUE for row in _rows(one, succeeded[one.name], held[one.name])]
    tried = sum(len(one.attacks) for one in CATALOGUE)
    return [
        *rows,
        Row("all", "attacks tried", float(tried), "1"),
        Row("all", "succeed against the naive proxy", float(sum(succeeded.values())), "1", least=tried),
        Row("all", "held", float(sum(held.values())), "1", least=tried),
    ]


def _count(one: AttackClass, pair: Pair, rounds: int, *, held: bool) -> int:
    outcomes = (play(attack, pair.present, pair.absent, rounds) for attack in one.attacks)
    return sum(outcome.held if held else outcome.succeeded for outcome in outcomes)


def _rows(one: AttackClass, succeeded: int, held: int) -> Iterator[Row]:
    tried = len(one.attacks)
    yield Row(one.name, "attacks tried", float(tried), "1")
    yield Row(one.name, "succeed against the naive proxy", float(succeeded), "1", least=tried)
    yield Row(one.name, "held", float(held), "1", least=tried)
