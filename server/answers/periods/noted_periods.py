"""Read the ledger's closed periods: since which data version some rows are unchanged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from planner.group_domains.day_conditions import Run
from planner.reuse.period_scope import PeriodScope
from server.ledger.entry import PeriodsNoted
from server.policy.calendar import days_of


@dataclass(frozen=True)
class _Way:
    """Periods in order, each with the version since which its rows are unchanged."""

    firsts: Sequence[date]
    lasts: Sequence[date]
    since: Sequence[int]

    def within(self, run: tuple[date, date]) -> int:
        """Return the newest version of all periods that a stretch of days touches."""
        start, stop = bisect_left(self.lasts, run[0]), bisect_right(self.firsts, run[1])
        return max(self.since[start:stop], default=1)


@dataclass(frozen=True)
class NotedPeriods:
    """Closed periods at one data version.

    Attributes:
      version: of the data.
      fingerprint: of the database's structure and files.
      fingerprints: of the structure and files, by each version whose closed periods were recorded.
      before: by append-only table, the first day that is not closed.
      columns: by append-only table, the day column by which its rows were compared.
      ways: by table and chain of references.
      whole: by public table, the version since which it is unchanged.
      reopened: table, period and version of periods that the administrator reopened.
    """

    version: int
    fingerprint: str
    fingerprints: Mapping[int, str]
    before: Mapping[str, date]
    columns: Mapping[str, str]
    ways: Mapping[tuple[str, str], _Way]
    whole: Mapping[str, int]
    reopened: tuple[tuple[str, str, int], ...]

    @classmethod
    def of(cls, noted: PeriodsNoted) -> NotedPeriods:
        """Read a ledger entry."""
        ways = {
            (table, name): _way({period: int(since) for period, (since, _) in way["periods"].items()})
            for table, told in noted.tables.items()
            for name, way in told["ways"].items()
        }
        return cls(
            version=noted.version,
            fingerprint=noted.fingerprint,
            fingerprints={int(version): str(fingerprint) for version, fingerprint in noted.loads},
            before={table: date.fromisoformat(told["before"]) for table, told in noted.tables.items()},
            columns={table: str(told["column"]) for table, told in noted.tables.items() if "column" in told},
            ways=ways,
            whole={table: int(told["since"]) for table, told in noted.whole.items()},
            reopened=tuple((str(table), str(period), int(version)) for table, period, version in noted.reopened),
        )

    def since(self, scope: PeriodScope, runs: Sequence[Run]) -> int | None:
        """Return the oldest version whose rows of some days are those of this version.

        Returns: None where a day is not closed, or something is not vouched for.
        """
        before = self.before.get(scope.table)
        ways = [self.ways.get((scope.table, name)) for name in scope.ways]
        whole = [self.whole.get(name) for name in scope.whole]
        if self.columns.get(scope.table, scope.column) != scope.column:
            return None  # the policy had another day column when the versions were compared
        if before is None or any(last is None or last >= before for _, last in runs):
            return None
        stretches = [(first or date.min, last) for first, last in runs if last is not None]
        found = [1]
        for way in ways:
            if way is None:
                return None
            found += [way.within(stretch) for stretch in stretches]
        for since in whole:
            if since is None:
                return None
            found.append(since)
        return max(found)

    def reopened_within(self, scope: PeriodScope, runs: Sequence[Run]) -> tuple[tuple[str, int], ...]:
        """Return the reopened periods of some days, with the version of each."""
        stretches = [(first or date.min, last or date.max) for first, last in runs]
        return tuple(
            (period, version)
            for table, period, version in self.reopened
            if table == scope.table and any(_touch(days_of(period), stretch) for stretch in stretches)
        )


def _touch(left: tuple[date, date], right: tuple[date, date]) -> bool:
    return left[0] <= right[1] and right[0] <= left[1]


def _way(since: Mapping[str, int]) -> _Way:
    ordered = sorted((*days_of(period), version) for period, version in since.items())
    firsts, lasts, versions = zip(*ordered, strict=True) if ordered else ((), (), ())
    return _Way(firsts, lasts, versions)
