"""A toy with PINQ's accounting, in which Take, union and a partition are 1-stable. Unsound: that is its point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from privacy.entropy import Entropy


@dataclass(frozen=True)
class Rows:
    """Rows in an order, asked of as if every transformation had stability 1."""

    rows: tuple[int, ...]

    def partition(self, rule: Callable[[int], bool]) -> tuple[Rows, Rows]:
        """Those that meet a rule, and those that do not."""
        return Rows(tuple(filter(rule, self.rows))), Rows(tuple(row for row in self.rows if not rule(row)))

    def union(self, other: Rows) -> Rows:
        """These, then those."""
        return Rows(self.rows + other.rows)

    def take(self, most: int) -> Rows:
        """The first so many: one row more in front changes two, and that is 2, not 1."""
        return Rows(self.rows[:most])

    def count(self, epsilon: float, entropy: Entropy) -> tuple[int, float]:
        """A noisy count, and what the toy charges for it: epsilon, whatever was done before."""
        return len(self.rows) + int(entropy.laplace(1 / epsilon, 1)[0]), epsilon


def swollen(rows: Rows, wanted: int, times: int) -> Rows:
    """Algorithm 3 of the paper on sampling and partitioning: a row that is absent lets `times` others in."""
    for number in range(times):
        own, others = rows.partition(lambda row: row == wanted)
        rows = others.union(own.union(Rows((1_000_000 + number,))).take(1))
    return rows
