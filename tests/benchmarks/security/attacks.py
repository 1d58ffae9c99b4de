"""The catalogue of attacks, against the naive proxy and the real one: how many were tried, and how many held."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.parts import Measured
from tests.benchmarks.rows import Row
from tests.benchmarks.security.kept import FOLDER, blocks
from tests.security.catalogue import CATALOGUE
from tests.security.game import AttackClass, play
from tests.security.neighbours import Pair, naive_pair, real_pair

_ROUNDS, _QUICK_ROUNDS, _NAIVE_ROUNDS = 100, 8, 2
_KINDS = ("naive", "real")


def attacks(quick: bool) -> Measured:
    """Rows of each class, and of all together."""
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    tried = sum(len(one.attacks) for one in CATALOGUE)
    played = blocks("attacks", 2 * tried, "attacks, on the naive proxy and on the real one", whole=not quick)
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, naive_pair(Path(folder)) as naive:
        for name, one in played.missing({f"{one.name}, naive": one for one in CATALOGUE}):
            played.keep(name, {"count": _count(one, naive, _NAIVE_ROUNDS, held=False)}, len(one.attacks))
    with real_pair(FOLDER / "attacks") as real:
        for name, one in played.missing({f"{one.name}, real": one for one in CATALOGUE}):
            played.keep(name, {"count": _count(one, real, rounds, held=True)}, len(one.attacks))
    found = {name: one["count"] for name, one in played.kept.items()}
    rows = [row for one in CATALOGUE for row in _rows(one, *(found.get(f"{one.name}, {kind}", 0) for kind in _KINDS))]
    naively, really = (sum(count for name, count in found.items() if name.endswith(kind)) for kind in _KINDS)
    return Measured(
        [
            *rows,
            Row("all attacks", "tried", float(tried), "1"),
            Row("all attacks", "succeed against the naive proxy", float(naively), "1", least=tried),
            Row("all attacks", "held", float(really), "1", least=tried),
        ],
        (played,),
    )


def _count(one: AttackClass, pair: Pair, rounds: int, *, held: bool) -> int:
    outcomes = (play(attack, pair.present, pair.absent, rounds, pair.anew) for attack in one.attacks)
    return sum(outcome.held if held else outcome.succeeded for outcome in outcomes)


def _rows(one: AttackClass, succeeded: int, held: int) -> Iterator[Row]:
    tried = len(one.attacks)
    yield Row(one.name, "attacks tried", float(tried), "1")
    yield Row(one.name, "succeed against the naive proxy", float(succeeded), "1", least=tried)
    yield Row(one.name, "held", float(held), "1", least=tried)
