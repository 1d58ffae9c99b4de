"""Every attack of the catalogue succeeds against the naive proxy, and fails here."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from tests.security.attacks.budget_races import BUDGET_RACES
from tests.security.attacks.connections import CONNECTIONS
from tests.security.attacks.differencing import DIFFERENCING
from tests.security.attacks.low_bits import LOW_BITS
from tests.security.attacks.timing import TIMING
from tests.security.catalogue import ATTACKS, CATALOGUE
from tests.security.game import AttackClass, BreakIn, Desk, Distinguisher, Opens, Reply, play
from tests.security.neighbours import Pair

FOLDER = Path(__file__).parent
ROUNDS, NAIVE_ROUNDS = 40, 2
"""Of an attack on noisy numbers: so many that who is always right at its budget is not so by chance."""

LONG = (TIMING, CONNECTIONS, BUDGET_RACES, LOW_BITS)
"""Classes that take many rounds; of the first three a busy machine decides, too."""

BY_CHANCE = 1e-9
"""How often an attack that is no better than its budget allows is taken for a success."""

ANSWERED = {
    "FROM: HAVING", "FROM: UNION", "FROM: UNION of a constant", "WHERE: an aggregate compared",
    "WHERE: the smallest of all", "WHERE: a boolean of all", "FROM: EXCEPT", "FROM: INTERSECT",
}  # fmt: skip
"""Of clauses inside a question those that are not refused."""

ROUNDS_OF = [attack for one, attack in ATTACKS if one is DIFFERENCING or attack.name in ANSWERED]
"""Attacks on noisy numbers that are answered."""

CLASSES = [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one in LONG else []) for one in CATALOGUE]


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in CLASSES if one.id != DIFFERENCING.name])
def test_each_succeeds_against_the_naive_proxy(one: AttackClass, naive: Pair) -> None:
    """Whose noise has a seed, and is drawn anew before each."""
    for attack in one.attacks:
        naive.anew()
        outcome = play(attack, naive.present, naive.absent, NAIVE_ROUNDS)
        assert outcome.succeeded, (attack.name, outcome.told)


@pytest.mark.parametrize("one", [one for one in CLASSES if one.id != DIFFERENCING.name])
def test_each_fails_here(one: AttackClass, real: Pair) -> None:
    """What would look at noise is refused, in the same words for both, or plays rounds, which are slow."""
    for attack in one.attacks:
        if attack not in ROUNDS_OF:
            outcome = play(attack, real.present, real.absent, 1, real.anew)
            assert outcome.held, (attack.name, outcome.told)
            if isinstance(attack, Distinguisher) and attack.releases:
                assert outcome.told == "is refused, in the same words", (attack.name, outcome.told)


@pytest.mark.slow
def test_what_looks_at_noise_succeeds_against_the_naive_proxy(naive: Pair) -> None:
    for attack in DIFFERENCING.attacks:
        naive.anew()
        outcome = play(attack, naive.present, naive.absent, NAIVE_ROUNDS)
        assert outcome.succeeded, (attack.name, outcome.told)


@pytest.mark.slow
@pytest.mark.statistical(15 * BY_CHANCE)
def test_what_looks_at_noise_fails_here(real: Pair) -> None:
    """Each of them is taken for a success by chance as often as the game says."""
    assert len(ROUNDS_OF) == 15
    for attack in ROUNDS_OF:
        outcome = play(attack, real.present, real.absent, ROUNDS, real.anew, BY_CHANCE)
        assert outcome.held, (attack.name, outcome.told)


def _says(name: str) -> Opens:
    """A desk in an empty room: what stands behind it is only its name."""
    return lambda epsilon: Desk("http://127.0.0.1:1", name, "", lambda _: ("", ""), FOLDER)


def test_the_game_takes_luck_for_luck_and_no_more() -> None:
    """Who is right every time at epsilon 1 is lucky twelve times, but not eighty."""
    knowing = Distinguisher("knows", lambda desk: desk.name == "yes", releases=True, epsilon=1.0)
    for rounds, held in ((6, True), (40, False)):
        outcome = play(knowing, _says("yes"), _says("no"), rounds)
        assert outcome.succeeded and outcome.held == held, rounds


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
    names = [(one.name, attack.name) for one, attack in ATTACKS]
    assert len(set(names)) == len(names) > 150


def test_the_map_has_every_class_with_its_file_and_its_reference() -> None:
    text = (FOLDER / "README.md").read_text()
    rows = {line.split(" | ")[1]: line for line in text.splitlines() if line.startswith("| ") and "`attacks/" in line}
    files = {f"`attacks/{path.name}`" for path in (FOLDER / "attacks").glob("*.py") if path.name != "__init__.py"}
    assert set(rows) == files and len(files) == len(CATALOGUE) <= 16
    for one in CATALOGUE:
        words = re.split(r"[;,]", one.reference)[0]
        assert any(one.name in line and words in line for line in rows.values()), one.name
