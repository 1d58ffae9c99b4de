"""An adversary who knows everybody but one, spends a budget adaptively, and says whether that one is there.

It knows both databases, as the definition of differential privacy grants it, and adds up the log likelihood ratio
of all that it is told: of a value x with Laplace noise of scale b, whose truth is a without the person and c with
them, (|x - a| - |x - c|) / b. By Neyman and Pearson nobody decides better from these values. b is what the answer's
interval says, and c - a what it says of the threshold. Strategies differ in which values they buy, in which pieces,
and by what they decide about the next one.

Source: Nasr et al., "Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning", IEEE S&P
2021 (the game); Wasserman and Zhou, "A Statistical Framework for Differential Privacy", JASA 2010 (the bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.security.game import TARGET, Desk, Reply, nonce
from tests.security.neighbours import LONE_WARD, OWN_VISITS

LEAST = 0.01
"""An epsilon that nobody asks less for: what is left of a budget below it is left."""

_SPENT = 1 - 1e-7
"""Of what is left; the rest is rounding."""


@dataclass
class Player:
    """What one adversary has asked, and what it believes.

    Attributes:
      desk: where it sits.
      ratio: ln P(all answers | the person is there) / P(all answers | they are not).
      beyond: answers to questions that the budget does not have.
    """

    desk: Desk
    ratio: float = 0.0
    asked: int = 0
    beyond: int = 0
    refused: list[str] = field(default_factory=list)

    def count(self, epsilon: float, **more: Any) -> bool:
        """How many are this person: none or one. Was it answered?"""
        return self._heard(self._ask(f"SELECT count(*) FROM patient WHERE id = {TARGET}", epsilon, **more), 1.0)

    def visits(self, epsilon: float, **more: Any) -> bool:
        """Rows of the person, of whom the threshold lets so many through."""
        return self._heard(self._ask(f"SELECT count(*) FROM visit WHERE patient = {TARGET}", epsilon, **more), None)

    def grouped(self, epsilon: float, **more: Any) -> bool:
        """Rows by ward, where one ward is this person's alone."""
        return self._heard(self._ask("SELECT ward, count(*) FROM visit", epsilon, " GROUP BY ward", **more), None)

    def summed(self, epsilon: float, **more: Any) -> bool:
        """A sum of this person's numbers."""
        sql = f"SELECT sum(least(cost, 100)) FROM visit WHERE patient = {TARGET}"
        return self._heard(self._ask(sql, epsilon, **more), None)

    def together(self, epsilon: float, questions: int) -> bool:
        """Several counts of this person for one price."""
        asked = [f"SELECT count(*) FROM patient WHERE id = {TARGET} AND id <> -{nonce()}" for _ in range(questions)]
        reply = self.desk.post("/v1/workload", {"queries": asked, "epsilon": epsilon})
        self.asked += 1
        if reply.status != 200:
            self.refused.append(reply.text)
            return False
        for answer in reply.body["answers"]:
            self._believe(answer, 1.0)
        return True

    def rest(self) -> None:
        """All that is left, for the best question that there is; and then one more, which must be refused."""
        left = self.desk.left * _SPENT
        if left > LEAST:
            self.count(left)
        self.beyond += self._ask(f"SELECT count(*) FROM patient WHERE id = {TARGET}", 0.5).status == 200

    @property
    def says(self) -> bool:
        """Is the person there?"""
        return self.ratio > 0

    def _ask(self, sql: str, epsilon: float, end: str = "", **more: Any) -> Reply:
        """A question that nobody has asked before: a repetition tells nothing new."""
        column = "id" if "WHERE" in sql or "FROM visit" in sql else "1"
        word = " AND" if "WHERE" in sql else " WHERE"
        self.asked += 1
        return self.desk.ask(f"{sql}{word} {column} <> -{nonce()}{end}", epsilon, **more)

    def _heard(self, reply: Reply, moves: float | None) -> bool:
        if reply.status != 200:
            self.refused.append(reply.text)
            return False
        self._believe(reply.body, moves)
        return True

    def _believe(self, answer: Mapping[str, Any], moves: float | None) -> None:
        """Add an answer's ratio.

        Args:
          moves: by how much the person moves the value; None: by as much as the answer's threshold allows.
        """
        row = next((one for one, row in enumerate(answer["rows"]) if row[0] == LONE_WARD), 0)
        interval, value = answer["intervals"][row][-1], float(answer["rows"][row][-1])
        ends = [(interval[end], sign) for end, sign in (("low", -1), ("high", 1)) if interval[end] is not None]
        reach = max((sign * (end - value) for end, sign in ends), default=0.0)  # an end may be cut off at 0, or open
        if moves is None:
            taus = answer["taus"][row][-1] or [math.inf]
            moves = min(float(OWN_VISITS), taus[0])
        scale = reach / -math.log(1 - float(answer["confidence"])) or moves
        self.ratio += (abs(value) - abs(value - moves)) / scale


Strategy = Callable[[Player, float], None]
"""Spends a budget of so much epsilon, but for what `rest` spends of it at the end."""


def _at_once(player: Player, epsilon: float) -> None:
    """All for one count."""


def _in_pieces(player: Player, epsilon: float) -> None:
    """Five counts of equal price."""
    for _ in range(4):
        player.count(epsilon / 5)


def _as_it_goes(player: Player, epsilon: float) -> None:
    """A little first; while it is undecided twice as much, and once it believes something, all on that."""
    piece = epsilon / 10
    while player.count(piece) and abs(player.ratio) < epsilon / 3 and player.asked < 4:
        piece = min(2 * piece, player.desk.left * _SPENT)


def _by_groups(player: Player, epsilon: float) -> None:
    """Rows by ward; where that speaks for the person, again."""
    player.grouped(epsilon / 2)
    if player.ratio > 0:
        player.grouped(epsilon / 4)


def _by_sums(player: Player, epsilon: float) -> None:
    """The person's rows and what they add up to."""
    player.summed(epsilon / 3)
    player.visits(epsilon / 3)


def _by_workloads(player: Player, epsilon: float) -> None:
    """Four counts at once, then two."""
    player.together(epsilon / 2, 4)
    player.together(epsilon / 4, 2)


def _from_what_is_kept(player: Player, epsilon: float) -> None:
    """A grouped answer, what follows from it for free, and the same words again."""
    mark = nonce()
    grouped = f"SELECT id % 2, count(*) FROM patient WHERE id = {TARGET} AND id <> -{mark} GROUP BY 1"
    whole = f"SELECT count(*) FROM patient WHERE id = {TARGET} AND id <> -{mark}"
    player.desk.ask(grouped, epsilon / 4)
    before = player.desk.left
    for reuse in ("only", "auto"):
        reply = player.desk.ask(whole, epsilon / 4, reuse=reuse)
        player.asked += 1
        if reply.status == 200 and reply.body["intervals"][0][-1] is not None:
            player._believe(reply.body, 1.0)
            break
    if player.desk.left < before and abs(player.ratio) < epsilon / 4:
        player.count(epsilon / 4)


def _by_mechanisms(player: Player, epsilon: float) -> None:
    """A mechanism after the other."""
    for name in ("gem", "group_lp"):
        player.visits(epsilon / 4, mechanism=name)
    player.grouped(epsilon / 4, mechanism="l2_clip")


def _many(player: Player, epsilon: float) -> None:
    """As many small questions as the account admits: by zCDP more than add up to epsilon."""
    while player.asked < 40 and player.count(epsilon / 15):
        pass


STRATEGIES: dict[str, Strategy] = {
    "one count": _at_once,
    "a count in pieces": _in_pieces,
    "a count as it goes": _as_it_goes,
    "groups": _by_groups,
    "sums": _by_sums,
    "workloads": _by_workloads,
    "kept and derived answers": _from_what_is_kept,
    "mechanism after mechanism": _by_mechanisms,
}
"""Of an account whose epsilons add up."""

CONCENTRATED: dict[str, Strategy] = {"many small counts, zCDP": _many}
"""Of an account in which they add up to less."""
