"""Membership games: a coin chooses one of two neighbouring databases, an adversary asks it and says which.

Whoever is told (epsilon, delta)-DP things has an advantage, P(says yes | there) - P(says yes | not), of at most
(e^epsilon - 1 + 2 delta) / (e^epsilon + 1), for whatever it does with them (Kairouz, Oh and Viswanath, "The
Composition Theorem for Differential Privacy", ICML 2015, theorem 2.1 at equal priors). That a measured one lies above
is decided by the exact lower bound of Clopper and Pearson.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import beta

from server.ledger.account import Grant
from server.ledger.analyst import credentials_of, new_key
from tests.security.game import Desk
from tests.security.membership.adversary import CONCENTRATED, STRATEGIES, Player, Strategy
from tests.security.membership.broken_server import VARIABLE
from tests.security.neighbours import Proxy, clinic, served

EPSILON, DELTA = 1.0, 1e-6
"""The whole budget of each game."""

UNLIKELY = 1e-4
"""How often a measured advantage is taken for more than it is."""

SETTINGS = "answer_quantum = 0"
_AT_ONCE = 3  # games side by side: a proxy has as many workers


@dataclass(frozen=True)
class Score:
    """What came of some games.

    Attributes:
      games, right: how many there were, and in how many the adversary was right.
      asked: questions.
      beyond: answers to questions that the budget did not have.
    """

    games: int = 0
    right: int = 0
    asked: int = 0
    beyond: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.games + other.games, self.right + other.right, self.asked + other.asked, self.beyond + other.beyond
        )

    @property
    def advantage(self) -> float:
        """As it was measured: 0 is a coin's, 1 is never wrong."""
        return 2 * self.right / self.games - 1

    def surely(self, unlikely: float = UNLIKELY) -> float:
        """What the advantage is at least, but for so small a chance."""
        if not self.right:
            return -1.0
        return 2 * float(beta.ppf(unlikely, self.right, self.games - self.right + 1)) - 1


def allowed(epsilon: float = EPSILON, delta: float = DELTA) -> float:
    """The most that an advantage may be.

    >>> round(allowed(1.0, 0.0), 4), allowed(0.0, 0.0)
    (0.4621, 0.0)
    """
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


@contextmanager
def room(folder: Path, broken: str | None = None) -> Iterator[tuple[Proxy, Proxy]]:
    """Two running proxies, before the database with the person and the one without.

    Args:
      broken: what is broken in them (`broken_server.PLANTED`); None: they are as they are.
    """
    folders = folder / "with", folder / "without"
    for place, one in enumerate(folders):
        clinic(one, with_target=not place)
    module = "server.cli.main" if broken is None else "tests.security.membership.broken_server"
    with served(folders, SETTINGS, module, {} if broken is None else {VARIABLE: broken}) as (first, second):
        yield first, second


def play_games(
    proxies: Sequence[Proxy], count: int, seed: int, only: str | None = None, *, first: int = 0
) -> Mapping[str, Score]:
    """So many games, the strategies in turns.

    Args:
      proxies: with the person, and without.
      seed: of the coins; the noise has none.
      only: one strategy; None: all.
      first: the number of the first game: what is played in blocks has the coins of one long row.
    Returns: the score of each strategy.
    """
    every = STRATEGIES | CONCENTRATED
    names = [only] if only else list(every)
    coins = random.Random(seed)
    drawn = [(names[number % len(names)], coins.random() < 0.5) for number in range(first + count)][first:]
    found = dict.fromkeys(names, Score())
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        games = threads.map(lambda game: _game(proxies[not game[1]], every[game[0]], game[0], game[1]), drawn)
        for (name, _), score in zip(drawn, games, strict=True):
            found[name] += score
    return found


def _game(proxy: Proxy, strategy: Strategy, name: str, there: bool) -> Score:
    """One."""
    with _fresh(proxy, concentrated=name in CONCENTRATED) as desk:
        player = Player(desk)
        strategy(player, EPSILON)
        player.rest()
    return Score(1, player.says == there, player.asked, player.beyond)


@contextmanager
def _fresh(proxy: Proxy, *, concentrated: bool) -> Iterator[Desk]:
    """A desk with an account of its own."""
    if concentrated:
        name, key = f"eve-{random.randrange(1 << 60)}", new_key()
        grant = Grant(EPSILON, DELTA, "zcdp")
        proxy.ledger.add_analyst(name, credentials_of(key), EPSILON, DELTA, grant=grant)
        desk = Desk(proxy.address, name, key, proxy.account, proxy.log, proxy.wire, proxy.auditor)
    else:
        desk = proxy.desk(EPSILON)
    with desk.client:
        yield desk


def total(scores: Mapping[str, Score]) -> Score:
    """All strategies together."""
    return sum(scores.values(), Score())
