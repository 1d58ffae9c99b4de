"""The membership game: no adversary has more than its budget allows, and one before a broken proxy does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.membership.broken_server import PLANTED
from tests.security.membership.games import Score, allowed, play_games, room, total
from tests.security.neighbours import Pair

GAMES = 60
BROKEN_GAMES = {"noise": 200, "sensitivity": 1_500}
"""So many that the luck of one run in a thousand at most lets the broken one pass."""

STRONGEST = "one count"
"""Of one release nothing tells more than its likelihood ratio; without a fault this is right 70 times of 100."""

pytestmark = [pytest.mark.timed, pytest.mark.xdist_group("neighbours")]


def test_no_advantage_lies_above_the_claim(real: Pair) -> None:
    scores = play_games(real.proxies, GAMES, seed=1)
    every = total(scores)
    assert (every.games, every.beyond) == (GAMES, 0)
    assert every.asked > 2 * GAMES, "budgets are spent in pieces"
    for name, score in {**scores, "all": every}.items():
        assert score.surely() <= allowed(), (name, score)


@pytest.mark.parametrize("fault", ["noise", pytest.param("sensitivity", marks=pytest.mark.slow)])
def test_a_broken_mechanism_is_caught(fault: str, tmp_path: Path) -> None:
    """Half of the sensitivity takes more games to be sure of: right 82 times of 100, where 73 are allowed."""
    with room(tmp_path, broken=fault) as proxies:
        score = total(play_games(proxies, BROKEN_GAMES[fault], seed=2, only=STRONGEST))
    assert score.surely() > allowed(), score


def test_what_is_planted_is_what_is_played() -> None:
    assert set(PLANTED) == set(BROKEN_GAMES)


@pytest.mark.parametrize(("right", "held"), [(30, True), (44, True), (56, False), (60, False)])
def test_luck_is_no_advantage_and_certainty_is(right: int, held: bool) -> None:
    """Of 60 games at epsilon 1; 44 are right by the claim."""
    assert (Score(60, right).surely() <= allowed()) == held


def test_the_claim_of_nothing_is_nothing_and_of_everything_everything() -> None:
    assert allowed(0.0, 0.0) == 0
    assert 0.462 < allowed(1.0, 0.0) < 0.463
    assert allowed(40.0, 0.0) == pytest.approx(1)
    assert allowed(0.0, 0.25) == pytest.approx(0.25)
