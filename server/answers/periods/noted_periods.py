"""What the ledger says of closed periods, as questions ask it: since which version some rows are what they are."""

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
    """Periods in order, each with the version since which its rows are the same."""

    firsts: Sequence[date]
    lasts: Sequence[date]
    since: Sequence[int]

    def within(self, run: tuple[date, date]) -> int:
        """The newest of the versions of all periods that a stretch of days touches."""
        start, stop = bisect_left(self.lasts, run[0]), bisect_right(self.firsts, run[1])
        return max(self.since[start:stop], default=1)


@dataclass(frozen=True)
class NotedPeriods:
    """Closed periods of one version of the data.

    Attributes:
      version: of the data.
      fingerprint: of the database's structure, and of the state of files.
      loads: by version of which closed periods were noted, the fingerprint then; this one among them.
      before: by append-only table, the first day that is not closed.
      ways: by table and chain of references.
      whole: by public table, since which version it is the same.
      reopened: table, period and version, as the custodian has called them changed.
    """

    version: int
    fingerprint: str
    loads: Mapping[int, str]
    before: Mapping[str, date]
    ways: Mapping[tuple[str, str], _Way]
    whole: Mapping[str, int]
    reopened: tuple[tuple[str, str, int], ...]

    @classmethod
    def of(cls, noted: PeriodsNoted) -> NotedPeriods:
        """As the entry says."""
        ways = {
            (table, name): _way({period: int(since) for period, (since, _) in way["periods"].items()})
            for table, told in noted.tables.items()
            for name, way in told["ways"].items()
        }
        return cls(
            version=noted.version,
            fingerprint=noted.fingerprint,
            loads={int(version): str(fingerprint) for version, fingerprint in noted.loads},
            before={table: date.fromisoformat(told["before"]) for table, told in noted.tables.items()},
            ways=ways,
            whole={table: int(told["since"]) for table, told in noted.whole.items()},
            reopened=tuple((str(table), str(period), int(version)) for table, period, version in noted.reopened),
        )

    def since(self, scope: PeriodScope, runs: Sequence[Run]) -> int | None:
        """The oldest version whose answers about some days are answers about the rows as they are in this one.

        Args:
          scope: which rows an answer depends on.
          runs: the days.
        Returns: None where not all of the days are closed, or something is not vouched for.
        """
        before = self.before.get(scope.table)
        ways = [self.ways.get((scope.table, name)) for name in scope.ways]
        whole = [self.whole.get(name) for name in scope.whole]
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
        """The periods of some days that the custodian has reopened, with the version that did it."""
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
