"""Every attack of the catalogue succeeds against the naive proxy, and fails here."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from _pytest.mark import ParameterSet

from tests.security.attacks.budget_races import BUDGET_RACES
from tests.security.attacks.connections import CONNECTIONS
from tests.security.attacks.differencing import DIFFERENCING
from tests.security.attacks.timing import TIMING
from tests.security.catalogue import ATTACKS, CATALOGUE
from tests.security.game import Attack, AttackClass, BreakIn, Desk, Distinguisher, Opens, Reply, play
from tests.security.neighbours import Pair

FOLDER = Path(__file__).parent
ROUNDS, NAIVE_ROUNDS = 10, 2
"""Of an attack on noisy numbers; the benchmark plays a hundred."""

NAMES = [f"{one.name}: {attack.name}" for one, attack in ATTACKS]
BY_THE_CLOCK = (TIMING, CONNECTIONS, BUDGET_RACES)
"""Of these classes a busy machine decides, too."""


def played(*, slow: tuple[AttackClass, ...] = ()) -> list[ParameterSet]:
    """Every attack, with its name; those of some classes are left out of `make test`."""
    found = []
    for (one, attack), name in zip(ATTACKS, NAMES, strict=True):
        marks = [pytest.mark.timed] * (one in BY_THE_CLOCK) + [pytest.mark.slow] * (one in slow)
        found.append(pytest.param(attack, id=name, marks=marks))
    return found


@pytest.mark.parametrize("attack", played(slow=BY_THE_CLOCK))
def test_succeeds_against_the_naive_proxy(attack: Attack, naive: Pair) -> None:
    outcome = play(attack, naive.present, naive.absent, NAIVE_ROUNDS)
    assert outcome.succeeded, outcome.told


@pytest.mark.parametrize("attack", played(slow=(DIFFERENCING, *BY_THE_CLOCK)))
def test_fails_here(attack: Attack, real: Pair) -> None:
    """Rounds of noisy numbers take their time, and a busy machine decides what is measured in seconds: slow."""
    outcome = play(attack, real.present, real.absent, ROUNDS, real.anew)
    assert outcome.held, outcome.told


def _says(name: str) -> Opens:
    """A desk in an empty room: what stands behind it is only its name."""
    return lambda epsilon: Desk("http://127.0.0.1:1", name, "", lambda _: ("", ""), FOLDER)


@pytest.mark.parametrize(("rounds", "held"), [(6, True), (40, False)])
def test_the_game_takes_luck_for_luck_and_no_more(rounds: int, held: bool) -> None:
    """Who is right every time at epsilon 1 is lucky twelve times, but not eighty."""
    knowing = Distinguisher("knows", lambda desk: desk.name == "yes", releases=True, epsilon=1.0)
    outcome = play(knowing, _says("yes"), _says("no"), rounds)
    assert outcome.succeeded and outcome.held == held


def test_the_game_sees_what_the_attack_overlooks() -> None:
    """Whoever was sent something else has been told, whatever was made of it."""

    def overlooks(desk: Desk) -> None:
        desk.replies.append(Reply(400, desk.name, {}, httpx.Headers(), 0.0))

    blind = Distinguisher("blind", overlooks)
    assert not play(blind, _says("yes"), _says("no"), 1).held
    assert play(blind, _says("yes"), _says("yes"), 1).held


def test_what_got_in_has_not_been_held() -> None:
    outcome = play(BreakIn("door", lambda _: True), _says("yes"), _says("no"), 1)
    assert outcome.succeeded and not outcome.held


def test_names_are_told_apart() -> None:
    assert len(set(NAMES)) == len(NAMES) > 150


def test_the_map_has_every_class_with_its_file_and_its_reference() -> None:
    text = (FOLDER / "README.md").read_text()
    rows = {line.split(" | ")[1]: line for line in text.splitlines() if line.startswith("| ") and "`attacks/" in line}
    files = {f"`attacks/{path.name}`" for path in (FOLDER / "attacks").glob("*.py") if path.name != "__init__.py"}
    assert set(rows) == files and len(files) == len(CATALOGUE) <= 16
    for one in CATALOGUE:
        words = re.split(r"[;,]", one.reference)[0]
        assert any(one.name in line and words in line for line in rows.values()), one.name
