"""Bounds on what one person contributes to a release, from the policy (`clip`, `at_most`) or the request (`at_most`).

The request's bound X replaces the choice of a clipping threshold. All of epsilon is spent at X. The alternative is
two Laplace releases: the sum up to tau, and the rest between tau and X (sensitivity X - tau). With shares a and 1 - a
of epsilon their scales are tau / (a epsilon) and (X - tau) / ((1 - a) epsilon). The sum of both is at least
(sqrt(tau) + sqrt(X - tau))^2 / epsilon >= X / epsilon, so nothing is gained. A count of the people above tau instead
adds up to X - tau for each person that its own noise leaves open.

No other method gains much. Let an epsilon-DP interval cover the truth with probability 1 - alpha whenever nobody adds
more than X. Take data with truth T, and data with s + k X more from k + 1 people. The interval covers T + s + k X
there with at least that probability, hence on the first data with (1 - alpha) exp(-(k + 1) epsilon) at least. Summed
over k >= 0 and s in [0, X), its expected length above T is at least

    (1 - alpha) X / (exp(epsilon) - 1),

for all data. One Laplace release at X has X ln(1 / alpha) / epsilon there. That is about three times as much at 95%
and a small epsilon (`make benchmark NAME=trust` has the ratio).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate, BoundQuery
from planner.errors import InvalidSetting
from planner.group_domains.day_conditions import Run, day_columns, split_days
from planner.plan import MOST_WEIGHT, ContributionBound, Release, SamplingPlan, normalised
from planner.planning.releases import Releases
from planner.policy.policy import ROWS, ROWS_PER, Policy, TablePolicy
from planner.sensitivity.join_steps import JoinSteps
from planner.sql.trees import column_ref, columns_of

CLIPPING = ("l1_clip", "joint_scale")
"""The mechanisms that bound a unit's total over all groups, as the policy's bounds do."""


@dataclass(frozen=True)
class ContributionBounds:
    """The policy's bounds that apply to this question.

    A join tuple holds one row of each of `tables`, and no row is in two tuples. So a unit has at most as many tuples
    as rows of the table, and the same holds for the sum of a column.

    Attributes:
      tables: by alias, the tables whose rows are the join tuples.
      tuples_per_unit: Delta, by declared fan-outs; None if unbounded.
      unused: why the policy's bounds do not apply; None if there are none, or they apply.
      of_part: does the question filter or group the rows? People then have less of them, so `clip` alone is the
        largest threshold of a choice. As the one threshold it gives several times the noise (`make benchmark
        NAME=one_owner`).
    """

    tables: Mapping[str, TablePolicy]
    tuples_per_unit: int | None = None
    unused: str | None = None
    of_part: bool = False

    def on(self, released: Releases, mechanism: str = "l1_clip") -> Releases:
        """The same releases with their bounds.

        Only `l1_clip` can count the people above `clip`. Others choose a threshold up to it, which tells whether
        there are many.
        """

        def bounded(release: Release) -> Release:
            bound = self.of(release)
            if bound is None or bound.clip is None:
                return replace(release, bound=bound)
            chosen = bound.chosen or mechanism != "l1_clip"
            return replace(release, bound=replace(bound, chosen=chosen, counted=not chosen))

        return replace(released, releases=tuple(map(bounded, released.releases)))

    def of(self, release: Release) -> ContributionBound | None:
        """Return the policy's bound on one unit's contribution to a release.

        It is None if the policy has none, or if values are measured as distances from the middle of their range.
        """
        if not release.is_sum or release.around is not None:
            return None
        clips = [one for alias, table in self.tables.items() for one in _amounts(table.clip, alias, release)]
        promised = [one for alias, table in self.tables.items() for one in _amounts(table.at_most, alias, release)]
        clip, at_most = next(iter(clips), None), min(promised, default=None)
        rows = None if self.tuples_per_unit is None else self.tuples_per_unit * release.weight_bound
        if rows is not None and (clip is not None or at_most is not None) and rows <= min([*clips, *promised]):
            at_most = rows
        # Contributions saturate at MOST_WEIGHT: there is no larger threshold.
        fits = [one if one is None or normalised(one, release) <= MOST_WEIGHT else None for one in (clip, at_most)]
        clip, at_most = fits
        if clip is not None and at_most is not None and at_most <= clip:
            clip = None
        if clip is None and at_most is None:
            return None
        return ContributionBound(clip, at_most, chosen=self.of_part and at_most is None)


def _amounts(said: Mapping[str, float], alias: str, release: Release) -> Iterator[float]:
    """What one unit adds by the policy: first by its bound on the summed column, then by that on rows."""
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
    """The policy's bounds on the tables whose rows are the join tuples; none if the request has its own, `asked`."""
    said = {
        entry.alias: table
        for entry in bound.tables
        if (table := policy.tables.get(entry.table.name)) is not None and (table.clip or table.at_most)
    }
    if not said or asked is not None:
        return ContributionBounds({})
    names = ", ".join(dict.fromkeys(entry.table.name for entry in bound.tables if entry.alias in said))
    if owners != 1 or sampled:
        why = "rows of this question have several owners" if owners != 1 else "this answer comes from a sample"
        return ContributionBounds({}, unused=_UNUSED.format(names=names, why=why))
    inner = [entry.alias for entry in bound.tables if entry.alias in said and entry.outer is None]
    days = {column.alias: split_days(_conditions(bound), column) for column in day_columns(bound, policy)}
    tables = {
        alias: _in_time(said[alias], days.get(alias))
        for alias in inner
        if steps.determined_by(alias) == steps.all_rows()
    }
    unused = _UNUSED.format(names=names, why="a row may appear in several joined rows")
    beside = _conditions(bound)
    for alias, found in days.items():
        if found is not None and alias in said and said[alias].clip.keys() & ROWS_PER.keys():
            beside = [one for one in beside if one in found[1]]  # its bound is for these days
    return ContributionBounds(tables, tuples_per_unit, None if tables else unused, _is_of_part(bound, beside))


def _is_of_part(bound: BoundQuery, conditions: Iterable[exp.Expr]) -> bool:
    """Does a question with these conditions filter or group the rows, or add up some of them?"""
    grouped = bool(bound.keys or bound.semi_joins)
    return grouped or not all(map(_is_join, conditions)) or any(map(_adds_some, bound.aggregates))


def _is_join(condition: exp.Expr) -> bool:
    sides = condition.this, condition.args.get("expression")
    return isinstance(condition, exp.EQ) and all(isinstance(side, exp.Column) for side in sides)


def _adds_some(aggregate: BoundAggregate) -> bool:
    """Does an aggregate have a FILTER, or a CASE over other columns than the one that it adds up?"""
    cases = [] if aggregate.argument is None else list(aggregate.argument.find_all(exp.Case))
    read = {column_ref(column) for case in cases for column in columns_of(case)}
    return aggregate.condition is not None or bool(read - {aggregate.column})


def _conditions(bound: BoundQuery) -> list[exp.Expr]:
    return [part for one in bound.predicates for part in (one.flatten() if isinstance(one, exp.And) else [one])]


def _in_time(table: TablePolicy, found: tuple[Sequence[Run], object] | None) -> TablePolicy:
    """Turn bounds per day, week, month or year into a number of rows, if the question bounds the time."""
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
    """How many days, weeks, months or years two days touch.

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


_UNUSED = "The policy's clip and at_most of {names} do not apply: {why}."


def not_used_by(mechanism: str) -> str:
    """Say why the policy's bounds are not used with another mechanism."""
    return f"The policy's clip and at_most do not apply: {mechanism} chooses its clipping threshold itself."


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
    """Refuse an `at_most`, in the answer's unit, that would not make the interval one for the truth.

    A bound below what one row may add is refused, since it usually belongs to another question. In a session, a bound
    set for a count of visits may meet a sum of costs, which would be clipped to a thousandth and still claim to cover
    the truth.

    Raises: InvalidSetting for a number not above 0, quantiles, extremes, quotients, counts beside sums, samples, a
      bound that one row may exceed by its declared range, and one that no threshold reaches.
    """
    if not (math.isfinite(most) and most > 0):
        raise InvalidSetting(f"{_NAME} must be a number above 0")
    if any(release.ranked is not None for release in released.releases):
        hint = "leave it out, or ask for sums and counts in a question of their own"
        raise InvalidSetting(f"{_NAME} applies to sums and counts, not to quantiles and extremes", hint=hint)
    if released.jointly:
        hint = "ask for the sum and the count in two questions, each with its own bound"
        raise InvalidSetting(f"{_NAME} applies to a sum or a count, and this question asks for a quotient", hint=hint)
    bounds = {release.most for release in released.releases}
    if 1.0 in bounds and len(bounds) > 1:
        hint = "ask for them in two questions, each with its own bound"
        raise InvalidSetting(
            f"{_NAME} applies to one sum or count, and this question asks for a count and a sum", hint=hint
        )
    if most < max(bounds, default=0.0):
        raise InvalidSetting(
            f"{_NAME} is {most:g}, but by declared ranges one row alone may add up to {max(bounds):g}",
            hint=f"it is in the unit of the answer: use {max(bounds):g} or more, leave it out, or bound a row's "
            "value, as sum(least(x, 100)) or WHERE x <= 100 do",
        )
    if sampling is not None:
        raise InvalidSetting(
            f"{_NAME} makes intervals cover the true value, and a sample may miss that by chance",
            hint="ask without sampling",
        )
    largest = min((release.weight_bound for release in released.releases), default=1.0) * float(MOST_WEIGHT)
    if most > largest:
        raise InvalidSetting(
            f"{_NAME} must be at most {largest:g} for this question", hint="use a smaller value, or leave it out"
        )
