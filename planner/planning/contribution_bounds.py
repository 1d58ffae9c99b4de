"""What the policy (`clip`, `at_most`) or whoever asks says that one person adds, as a bound on each release.

What whoever asks says is the threshold, instead of one that is chosen.
Why all of epsilon is spent at that one threshold X, and no part of it on choosing a smaller tau and measuring what is
cut off there: two Laplace releases, of the sum up to tau and of what is between tau and X (sensitivity X - tau), with
shares a and 1 - a of epsilon have scales tau / (a epsilon) and (X - tau) / ((1 - a) epsilon), whose sum is at least
(sqrt(tau) + sqrt(X - tau))^2 / epsilon >= X / epsilon; and a count of those who are cut adds up to X - tau for each
person that its own noise leaves open. Nor can anything else gain much. Let an epsilon-DP interval hold the truth with
probability 1 - alpha for all data in which nobody adds more than X. Of data with truth T, and s + k X more by k + 1
people, it holds T + s + k X with at least that probability, hence of the data itself with (1 - alpha) exp(-(k + 1)
epsilon) at least. Summed over k >= 0 and s in [0, X) its expected length above T is at least

    (1 - alpha) X / (exp(epsilon) - 1),

whatever the data. The interval of one Laplace release at X has X ln(1 / alpha) / epsilon there: some three times as
much at 95% and a small epsilon (`make benchmark NAME=trust` has the ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import InvalidSetting
from planner.group_domains.day_conditions import Run, day_columns, split_days
from planner.plan import MOST_WEIGHT, ContributionBound, Release, SamplingPlan, normalised
from planner.planning.releases import Releases
from planner.policy.policy import ROWS, ROWS_PER, Policy, TablePolicy
from planner.sensitivity.join_steps import JoinSteps

CLIPPING = ("l1_clip", "joint_scale")
"""The mechanisms that bound what a unit adds to all groups together, as the policy's numbers do."""


@dataclass(frozen=True)
class ContributionBounds:
    """What of the policy bounds this question's releases.

    A join tuple holds one row of each of these tables, and no row is in two tuples: whatever conditions leave, a
    unit has no more tuples than rows of the table, and what they add up to of a column is no more than its rows do.

    Attributes:
      tables: by alias, of the tables whose rows are the join tuples.
      tuples_per_unit: Delta, by declared fan-outs; None where none follows.
      unused: why what the policy says of tables in this question bounds nothing; None where it says nothing, or is
        used.
    """

    tables: Mapping[str, TablePolicy]
    tuples_per_unit: int | None = None
    unused: str | None = None

    def on(self, released: Releases, mechanism: str = "l1_clip") -> Releases:
        """The same releases, with their bounds; beside quotients nobody is counted who has more."""

        def bounded(release: Release) -> Release:
            bound = self.of(release)
            counted = bound is not None and bound.clip is not None and mechanism == "l1_clip"
            return replace(release, bound=None if bound is None else replace(bound, counted=counted))

        return replace(released, releases=tuple(map(bounded, released.releases)))

    def of(self, release: Release) -> ContributionBound | None:
        """The bound of a release; None where the policy has none for it, as for what is measured around a centre."""
        if not release.is_sum or release.around is not None:
            return None
        clips = [one for alias, table in self.tables.items() for one in _amounts(table.clip, alias, release)]
        promised = [one for alias, table in self.tables.items() for one in _amounts(table.at_most, alias, release)]
        clip, at_most = next(iter(clips), None), min(promised, default=None)
        rows = None if self.tuples_per_unit is None else self.tuples_per_unit * release.weight_bound
        if rows is not None and (clip is not None or at_most is not None) and rows <= min([*clips, *promised]):
            at_most = rows
        # Loads saturate at MOST_WEIGHT: there is no larger threshold.
        fits = [one if one is None or normalised(one, release) <= MOST_WEIGHT else None for one in (clip, at_most)]
        clip, at_most = fits
        if clip is not None and at_most is not None and at_most <= clip:
            clip = None
        return None if clip is None and at_most is None else ContributionBound(clip, at_most)


def _amounts(said: Mapping[str, float], alias: str, release: Release) -> Iterator[float]:
    """What one unit adds, by what is said of the column that is summed first, then by its number of rows."""
    if release.column is not None and release.column[0] == alias and release.column[1] in said:
        yield said[release.column[1]]
    if ROWS in said:
        yield said[ROWS] * (1.0 if release.whole else release.most)


def contribution_bounds(
    bound: BoundQuery,
    steps: JoinSteps,
    policy: Policy,
    *,
    owners: int,
    sampled: bool,
    asked: float | None,
    tuples_per_unit: int | None,
) -> ContributionBounds:
    """What the policy says of the tables whose rows are the join tuples; what whoever asks says, `asked`, wins."""
    said = {
        entry.alias: table
        for entry in bound.tables
        if (table := policy.tables.get(entry.table.name)) is not None and (table.clip or table.at_most)
    }
    if not said or asked is not None:
        return ContributionBounds({})
    names = ", ".join(dict.fromkeys(entry.table.name for entry in bound.tables if entry.alias in said))
    if owners != 1 or sampled:
        why = "rows of this question have several owners" if owners != 1 else "this answer is that of a sample"
        return ContributionBounds({}, unused=_UNUSED.format(names=names, why=why))
    inner = [entry.alias for entry in bound.tables if entry.alias in said and entry.outer is None]
    days = {column.alias: split_days(_conditions(bound), column) for column in day_columns(bound, policy)}
    tables = {
        alias: _in_time(said[alias], days.get(alias))
        for alias in inner
        if steps.determined_by(alias) == steps.all_rows()
    }
    unused = _UNUSED.format(names=names, why="a row may be in several joined rows here")
    return ContributionBounds(tables, tuples_per_unit, None if tables else unused)


def _conditions(bound: BoundQuery) -> list[exp.Expr]:
    """All of which a row that counts passes."""
    return [part for one in bound.predicates for part in (one.flatten() if isinstance(one, exp.And) else [one])]


def _in_time(table: TablePolicy, found: tuple[Sequence[Run], object] | None) -> TablePolicy:
    """With what is said of a day, week, month or year as a number of rows, where the question bounds the time."""
    runs = [] if found is None else found[0]
    ends = [(first, last) for first, last in runs if first is not None and last is not None]
    if not ends or len(ends) < len(runs):
        return table
    known = {name: sum(_periods(unit, *run) for run in ends) for name, unit in ROWS_PER.items()}

    def rows(said: Mapping[str, float]) -> Mapping[str, float]:
        most = [said[name] * many for name, many in known.items() if name in said]
        return {**said, ROWS: min([*most, said.get(ROWS, most[0])])} if most else said

    return replace(table, clip=rows(table.clip), at_most=rows(table.at_most))


def _periods(unit: str, first: date, last: date) -> int:
    """How many days, weeks, months or years have a day between two days.

    >>> [_periods(unit, date(2024, 1, 31), date(2024, 2, 5)) for unit in ("day", "week", "month", "year")]
    [6, 2, 2, 1]
    """
    if unit == "year":
        return last.year - first.year + 1
    if unit == "month":
        return 12 * (last.year - first.year) + last.month - first.month + 1
    if unit == "week":
        return (last.toordinal() - 1) // 7 - (first.toordinal() - 1) // 7 + 1
    return (last - first).days + 1


_UNUSED = "What the policy says of one person's {names} (clip, at_most) is not used: {why}."


def not_used_by(mechanism: str) -> str:
    """Why the policy's bounds are not used where another mechanism measures."""
    return f"What the policy says of contributions (clip, at_most) is not used: {mechanism} chooses for itself."


def amount_of(amount: float, release: Release) -> str:
    """An amount of a release for people.

    >>> from planner.plan import Release
    >>> from sqlglot import exp
    >>> amount_of(1200.0, Release("count(*)", exp.null(), 1.0, 1.0, True))
    '1,200 rows'
    """
    return f"{amount:,.15g} {'rows' if release.whole else f'of {release.label}'}"


_NAME = "at_most"


def check_at_most(most: float, released: Releases, sampling: SamplingPlan | None) -> None:
    """Refuse a bound `most`, in the unit of the answer, where it would not make the interval one for the truth.

    A bound below what one row may add is refused because it is nearly always of another question: a session in which
    it was said of a count of visits asks for a sum of costs, whose answer would be cut to a thousandth and be said to
    cover the truth. Who knows better can say it in SQL, where it stands beside what it is of.

    Raises: InvalidSetting for what is not above 0, quantiles and extremes, quotients, counts beside sums, samples, a
      bound that one row may exceed by its declared range, and one that no threshold reaches.
    """
    if not (math.isfinite(most) and most > 0):
        raise InvalidSetting(f"{_NAME} is a number above 0")
    if any(release.ranked is not None for release in released.releases):
        hint = "ask for quantiles and extremes without it, apart from sums and counts"
        raise InvalidSetting(f"{_NAME} is of sums and counts: nobody adds to a quantile or an extreme", hint=hint)
    if released.jointly:
        hint = "ask for the sum and the count apart: each has its own bound"
        raise InvalidSetting(f"{_NAME} is of a sum or a count, and this question asks for a quotient", hint=hint)
    bounds = {release.most for release in released.releases}
    if 1.0 in bounds and len(bounds) > 1:
        hint = "ask for them apart: each has its own bound"
        raise InvalidSetting(
            f"{_NAME} is of one sum or count, and this question asks for a count and a sum", hint=hint
        )
    if most < max(bounds, default=0.0):
        raise InvalidSetting(
            f"{_NAME} is {most:g}, but one row alone may add up to {max(bounds):g} here, by declared ranges",
            hint=f"it is in the unit of the answer: say at least {max(bounds):g}, leave it out, or bound what a row "
            "adds, as sum(least(x, 100)) or WHERE x <= 100 do",
        )
    if sampling is not None:
        raise InvalidSetting(
            f"{_NAME} makes intervals for the truth, which an answer from a sample misses by chance",
            hint="ask without sampling",
        )
    largest = min((release.weight_bound for release in released.releases), default=1.0) * float(MOST_WEIGHT)
    if most > largest:
        raise InvalidSetting(f"{_NAME} is at most {largest:g} here", hint="say less, or leave it out")
