"""Match a question with a cached answer: which cached groups hold its rows, and into which of its groups they go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import cached_property

from sqlglot import exp

from planner.group_domains.day_conditions import DayColumn, Run, common_runs, split_days
from planner.plan import Plan, Release
from planner.reuse.evaluate import Evaluator
from planner.reuse.fact import NULL, Fact, Known, Other, Plain, Unknown, Within, after, floored, moment_of, plain
from planner.reuse.normal_form import Ordered, TreeHashes, conjuncts, counted, tree_hash
from planner.reuse.outline import (
    FIELDS,
    KeyOutline,
    Outline,
    Period,
    ReleaseOutline,
    condition_name,
    conditions,
    key_outline,
    release_name,
    renamed,
    rows,
    rows_of_state,
    written,
)
from planner.sql.trees import nodes

_MOMENTS = ("date", "timestamp", "timestamptz")

Facts = dict[str, Fact]

NewGroup = tuple[Plain, ...]
"""The values of the question's keys, as `key_value` reads them."""


class Undecided(Exception):
    """Rows of one cached group differ in what the question asks of them, or it is not understood here."""


@dataclass(frozen=True)
class AskedKey:
    """A group key of the question that is asked."""

    outline: KeyOutline
    expression: exp.Expr


@dataclass(frozen=True)
class Lacking:
    """Rows that the question would count and the cached answer may have left out.

    Attributes:
      null: rows with NULL in a group key of the cached answer.
      others: rows whose value is not declared.
    """

    null: bool = False
    others: bool = False

    def __or__(self, other: Lacking) -> Lacking:
        return Lacking(self.null or other.null, self.others or other.others)


@dataclass(frozen=True)
class AskedRelease:
    """A release of the question that is asked.

    Attributes:
      name: what it counts (`release_name`).
      where: further conditions under which a row counts, with their names.
    """

    name: str
    where: tuple[tuple[str, exp.Expr], ...]

    @property
    def counts(self) -> tuple[str | None, tuple[str, ...]]:
        """What it counts of the question's rows, as `ReleaseOutline.counts`."""
        return self.name, tuple(sorted({name for name, _ in self.where}))


class AskedQuestion:
    """A question, prepared for comparison with cached outlines."""

    def __init__(self, plan: Plan) -> None:
        self.ordered = Ordered.of(plan)
        plan = self.ordered.plan
        self.hashes = TreeHashes()
        self.rows = rows(plan)
        self.conditions = named(conditions(plan))
        self.within = {condition_name(one): one for key in plan.group_keys for one in key.within}
        self.keys = tuple(AskedKey(key_outline(key), written(key)) for key in plan.group_keys)
        self.releases = tuple(map(_asked_release, plan.releases))

    def match(self, cached: Outline, release: AskedRelease, of: ReleaseOutline) -> Match | None:
        """Match a release with a cached one; None where its rows are not rows of the cached groups.

        The question must have all conditions of the cached release, so that its rows are among the cached ones.
        """
        if cached.rows != self.rows or of.name != release.name:
            return None
        extra = left_over({*cached.conditions, *of.where}, [*self.conditions, *release.where])
        return None if extra is None else Match(self, cached, (*extra, *self.not_within(cached)))

    def by_days(self, column: DayColumn) -> AskedByDays:
        """Return the question with its conditions on days split off."""
        column = renamed(column, self.ordered)
        found = split_days(conditions(self.ordered.plan), column)
        days, others = ((), ()) if found is None else found
        return AskedByDays(self, tree_hash(column.written), days, named(others))

    def not_within(self, cached: Outline) -> Iterator[exp.Expr]:
        """Yield what a row must pass to be in a group of the question, and not to be in a cached group."""
        told = {name for key in cached.keys for name in key.within}
        return (condition for name, condition in self.within.items() if name not in told)


@dataclass(frozen=True)
class AskedByDays:
    """A question without its days, prepared for comparison with cached outlines of other days.

    Attributes:
      asked: the question.
      column: hash of the day column.
      days: of its rows; none where a row may have no day.
      others: its conditions that are not on days alone.
    """

    asked: AskedQuestion
    column: str
    days: tuple[Run, ...]
    others: tuple[tuple[str, exp.Expr], ...]
    _rows: dict[str, str] = field(default_factory=dict)

    def match(self, cached: Outline, fingerprint: str) -> Match | None:
        """Match the question's rows, on some days, with those of cached groups; None where they differ.

        Args:
          fingerprint: of the database's structure, or of its files, at that version.
        """
        if fingerprint not in self._rows:
            self._rows[fingerprint] = rows_of_state(self.asked.ordered.plan, fingerprint)
        told = next((one for one in cached.days if one.column == self.column), None)
        if told is None or not self.days or cached.rows != self._rows[fingerprint]:
            return None
        extra = left_over(set(told.conditions), self.others)
        if extra is None:
            return None
        return Match(self.asked, cached, (*extra, *self.asked.not_within(cached)), self.column, told.runs)


def named(parts: Iterable[exp.Expr]) -> tuple[tuple[str, exp.Expr], ...]:
    """Return conditions by their names, each once, in one form for several spellings."""
    return tuple({condition_name(one): one for one in conjuncts(parts)}.items())


def left_over(cached: Set[str], asked: Iterable[tuple[str, exp.Expr]]) -> tuple[exp.Expr, ...] | None:
    """Return the conditions that only the question has; None where it lacks a cached one."""
    own = dict(asked)
    return None if cached - own.keys() else tuple(one for name, one in own.items() if name not in cached)


def _asked_release(release: Release) -> AskedRelease | None:
    name = release_name(release)
    return None if name is None else AskedRelease(name, named(counted(release)[1]))


@dataclass(frozen=True)
class Match:
    """A question whose rows are the cached rows that pass further conditions.

    Attributes:
      asked: the question.
      cached: the outline of the cached answer.
      extra: conditions that only the question has.
      column: hash of the day column where days are compared apart; else empty.
      cached_days: of the cached rows, then.
    """

    asked: AskedQuestion
    cached: Outline
    extra: tuple[exp.Expr, ...]
    column: str = ""
    cached_days: tuple[Run, ...] = ()

    @cached_property
    def relevant(self) -> tuple[int, ...]:
        """Places of the cached keys that the question reads or that tell days; over others, groups are added up."""
        read = {self.asked.hashes.of(node) for tree in self._trees() for node in nodes(tree)}
        read |= {self.column, *(key.outline.name for key in self.asked.keys)}
        return tuple(place for place, key in enumerate(self.cached.keys) if read & set(_names(key)))

    @property
    def by_days(self) -> bool:
        """Does the cached answer have groups of some of its days?"""
        return any(self.column in moments(key) for key in self.cached.keys)

    def days(self, values: Sequence[object]) -> tuple[Run, ...]:
        """Return the days of a cached group's rows.

        Args:
          values: of the `relevant` keys of the cached group.
        Raises: Undecided where these are not whole days.
        """
        days = self.cached_days
        for place, value in zip(self.relevant, values, strict=True):
            if self.column in moments(self.cached.keys[place]):
                inside = known_of_group(self.cached.keys[place], value).get(self.column)
                if not isinstance(inside, Within):
                    raise Undecided
                days = common_runs(days, [_whole_days(inside)])
        return days

    def group(self, values: Sequence[object]) -> NewGroup | None:
        """Return the question's group that holds all rows of a cached group; None where no row counts.

        Args:
          values: of the `relevant` keys of the cached group.
        Raises: Undecided.
        """
        facts: Facts = {}
        for place, value in zip(self.relevant, values, strict=True):
            facts |= known_of_group(self.cached.keys[place], value)
        for place, value in zip(self.relevant, values, strict=True):
            facts |= _within_year(self.cached.keys[place], value, facts)
        evaluator = Evaluator(facts, self.asked.hashes)
        passes = [evaluator.truth(condition) for condition in self.extra]
        if any(one is False or one is None for one in passes):
            return None
        if not all(one is True for one in passes):
            raise Undecided
        return tuple(self._key(key, facts, evaluator) for key in self.asked.keys)

    def lacking(self, cached_values: Sequence[Sequence[object]], own_values: Sequence[frozenset[Plain]]) -> Lacking:
        """Return which rows the cached answer left out and the question would count.

        Args:
          cached_values: per key of the cached answer, its values.
          own_values: per key of the question, its groups' values, as `key_value` reads them.
        """
        same = {key.outline.name for key in self.asked.keys}
        found = Lacking()
        for key, values in zip(self.cached.keys, cached_values, strict=True):
            if key.name in same:
                continue  # the question leaves out the same rows
            if key.lacks_null and not all(self._leaves_out(facts, own_values) for facts in _left_out(key)):
                found |= Lacking(null=True)
            if key.lacks_others:
                known = [key_value(key, value) for value in values if value is not None]
                others: Fact = Other(frozenset(value for value in known if not isinstance(value, Unknown)))
                facts: Facts = {key.name: others, key.inner: others} if key.is_column else {}
                if not (facts and self._leaves_out(facts, own_values)):
                    found |= Lacking(others=True)
        return found

    def _leaves_out(self, facts: Facts, own_values: Sequence[frozenset[Plain]]) -> bool:
        evaluator = Evaluator(facts, self.asked.hashes)
        # also the shared conditions: what they exclude is lacking in neither
        conditions = (*self.extra, *(one for _, one in self.asked.conditions), *self.asked.within.values())
        if any(evaluator.truth(condition) in (False, None) for condition in conditions):
            return True
        pairs = zip(self.asked.keys, own_values, strict=True)
        found = ((evaluator.value(key.expression), values) for key, values in pairs)
        return any(isinstance(value, Known) and value.value not in values for value, values in found)

    def _key(self, key: AskedKey, facts: Mapping[str, Fact], evaluator: Evaluator) -> Plain:
        value = facts.get(key.outline.name) or evaluator.value(key.expression)
        if not isinstance(value, Known):
            raise Undecided
        return value.value

    def _trees(self) -> Iterator[exp.Expr]:
        yield from self.extra
        yield from (key.expression for key in self.asked.keys)


def key_value(key: KeyOutline, value: object) -> Plain | Unknown:
    """Read a group key's value so that it compares exactly: a moment's text as the moment."""
    if key.kind in _MOMENTS and value is not None:
        return moment_of(value) or Unknown()
    return plain(value)


def moments(key: KeyOutline) -> tuple[str, ...]:
    """Return hashes of the expressions that hold the moment of a truncated key; none for other keys."""
    return () if key.period is None else (*key.period.of, *key.period.columns)


def _whole_days(inside: Within) -> Run:
    first, end = inside.first, inside.end
    if any(one is not None and one.time() != time() for one in (first, end)):
        raise Undecided
    return None if first is None else first.date(), None if end is None else (end - timedelta(days=1)).date()


def _names(key: KeyOutline) -> Iterable[str]:
    read = () if key.read is None else (*key.read.of, *key.read.columns)
    return (key.name, key.inner, *moments(key), *read)


def known_of_group(key: KeyOutline, value: object) -> Facts:
    """Return what one key's value says about every row of its group."""
    known = key_value(key, value)
    if isinstance(known, Unknown):
        return {}
    facts: Facts = {key.name: Known(known), key.inner: Known(known)}
    if key.period is None:
        return facts
    if known is None:
        return facts | dict.fromkeys(key.period.of, NULL)
    begun = _beginning(key.period, known)
    if begun is None:
        return {}
    inside = Within(begun, after(begun, key.period.unit), key.period.whole_days)
    facts |= dict.fromkeys(key.period.of, inside)
    return facts | dict.fromkeys(key.period.columns, inside)


def _beginning(period: Period, known: Plain) -> datetime | None:
    """Return the beginning of the unit of time that a key's value names."""
    if period.unit == "year" and isinstance(known, int) and datetime.min.year <= known <= datetime.max.year:
        return datetime(known, 1, 1)
    return known if isinstance(known, datetime) and floored(known, period.unit) == known else None


def _within_year(key: KeyOutline, value: object, facts: Facts) -> Facts:
    """Return what a month or quarter says about a moment whose year is known."""
    months, number = FIELDS.get(key.field, 0), key_value(key, value)
    if key.read is None or not months or not isinstance(number, int) or not 1 <= number <= 12 // months:
        return {}
    found: Facts = {}
    for name in (*key.read.of, *key.read.columns):
        year = facts.get(name)
        if isinstance(year, Within) and year.first is not None and year.end == after(year.first, "year"):
            first = year.first.replace(month=(number - 1) * months + 1)
            found[name] = Within(first, after(first, "month" if months == 1 else "quarter"), year.whole_days)
    return found


def _left_out(key: KeyOutline) -> list[Facts]:
    """Return the facts about rows with NULL in a key, one entry for each way to get NULL."""
    facts, read = known_of_group(key, None), key.period or key.read
    if read is None or read.first is None or read.last is None:
        return [facts if key.is_column or key.period is not None else {}]
    first, last = datetime.fromisoformat(read.first), datetime.fromisoformat(read.last)
    days = read.whole_days
    step = timedelta(days=1) if days else timedelta(microseconds=1)
    after_last = last + step if last.year < datetime.max.year else last
    beyond: tuple[Fact, ...] = NULL, Within(None, first, days), Within(after_last, None, days)
    return [facts | dict.fromkeys(read.columns, one) for one in beyond]
