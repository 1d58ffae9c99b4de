"""The membership game: no adversary has more than its budget allows, and one before a broken proxy does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.membership import broken_server
from tests.security.membership.broken_server import PLANTED
from tests.security.membership.games import Score, allowed, play_games, room, total
from tests.security.neighbours import Pair

GAMES = 1_000
"""A hundred of each strategy: of sixty, even sixty right ones could be luck of one time in 10^9."""

BROKEN_GAMES = {"noise": 300, "sensitivity": 4_000}
UNLIKELY = 1e-9
"""How often a measured advantage is taken for more than it is, and how seldom the broken one is lucky."""

STRONGEST = "one count"
"""Of one release nothing tells more than its likelihood ratio; without a fault this is right 70 times of 100."""


@pytest.mark.slow
@pytest.mark.statistical(11 * UNLIKELY)
def test_no_advantage_lies_above_the_claim(real: Pair) -> None:
    """Of each of ten strategies, and of all together."""
    scores = play_games(real.proxies, GAMES, seed=1)
    every = total(scores)
    assert (every.games, every.beyond, len(scores)) == (GAMES, 0, 10)
    assert every.asked > 2 * GAMES, "budgets are spent in pieces"
    for name, score in {**scores, "all": every}.items():
        assert score.surely(UNLIKELY) <= allowed(), (name, score)


@pytest.mark.slow
@pytest.mark.statistical(1e-9)
@pytest.mark.xdist_group("broken proxies")
def test_a_broken_mechanism_is_caught(tmp_path: Path) -> None:
    """At a quarter of the noise it is right 98 times of 100, with half of the sensitivity 82 times; allowed are 73.

    So 300 games are 12 standard deviations from the claim, and 4,000 games 14: six for the bound, the rest for luck.
    """
    for fault, games in BROKEN_GAMES.items():
        with room(tmp_path / fault, broken=fault) as proxies:
            score = total(play_games(proxies, games, seed=2, only=STRONGEST))
        assert score.surely(UNLIKELY) > allowed(), (fault, score)


def test_what_is_planted_is_what_is_played() -> None:
    assert set(PLANTED) == set(BROKEN_GAMES)


@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_can_be_planted(fault: str) -> None:
    """The code that it breaks is still where it was."""
    command = [sys.executable, "-m", broken_server.__name__, "--help"]
    subprocess.run(command, env=os.environ | {broken_server.VARIABLE: fault}, check=True, capture_output=True)


def test_luck_is_no_advantage_and_certainty_is() -> None:
    """Of 60 games at epsilon 1; 44 are right by the claim. The claim of nothing is nothing, of everything all."""
    for right, held in ((30, True), (44, True), (56, False), (60, False)):
        assert (Score(60, right).surely() <= allowed()) == held, right
    assert allowed(0.0, 0.0) == 0
    assert 0.462 < allowed(1.0, 0.0) < 0.463
    assert allowed(40.0, 0.0) == pytest.approx(1)
    assert allowed(0.0, 0.25) == pytest.approx(0.25)
