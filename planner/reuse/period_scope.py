"""Find which rows of an append-only table decide a question's answer, and the days of each group's rows.

A question has a scope where each tuple of its join holds one row of one append-only table, the anchor. The tuple must
be a function of that row, of the rows that its references lead to, and of public tables:

* each other private table is joined by all columns of a reference to one of its keys;
* each other public table is vouched for as a whole, as is one inside EXISTS or IN;
* tables joined to find owners are joined along such references by construction, so a tuple's owners are a function of
  the same rows (`planner.sensitivity.provenance`).

Take two states with the same anchor rows on some days, the same rows behind them and the same public tables. Then the
tuples of those days are the same, with the same owners, weights and group keys. Theorem: docs/mathematics.md,
section 9.6.

Other questions have no scope and are asked again: self-joins of a person's rows, per-person subqueries, EXISTS over
private rows, samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery, BoundTable, column_type
from planner.expressions.datetimes import ALWAYS, bounded_moment
from planner.expressions.scalar import Scalar, Span
from planner.group_domains.day_conditions import Run, days_left
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.reuse.evaluate import FIELDS
from planner.schema import ForeignKey, Schema, Table
from planner.sensitivity.column_equalities import equal_columns
from planner.sensitivity.provenance import Provenance, provenance
from planner.sql.datetimes import floor
from planner.sql.literals import moment_sql
from planner.sql.result_types import KeyCell, day_key
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import ColumnRef, bound_column, field_of

_Day = Callable[[date], date]

_UNITS = frozenset({"day", "week", "month", "quarter", "year"})


@dataclass(frozen=True)
class TimeKey:
    """A group key that is a function of the day of a column.

    Attributes:
      place: of the key in the plan.
      of_day: the key's value on a day of the declared range.
    """

    place: int
    of_day: Callable[[date], KeyCell]


def time_key(place: int, key: BoundKey, column: ColumnRef, kind: SqlType, declared: Span | None) -> TimeKey | None:
    """Derive a key from the day of a column; None where other things decide it, or where that is not proved here.

    Args:
      column: bound, of a date or a moment.
      kind, declared: its type and its declared range. Dates outside of it are in no group.
    """
    name = bound_column(*column)
    moment, _ = bounded_moment(Scalar(name, kind, name, declared=declared))
    node, family, told = _plain(key.value), key.type.family, field_of(key.value)
    if told is not None:
        known, read = FIELDS.get(told.this.name.upper()), _day_of(told.expression, (name, moment))
        if known is None or known[0] not in _UNITS or read is None or family is not Family.INTEGER:
            return None
        return TimeKey(place, lambda one: known[1](read(one)))
    whole_days = kind.family is Family.DATE or node not in (name, moment)
    day = _day_of(node, (name, moment))
    if day is None or not whole_days or family not in (Family.DATE, Family.TIMESTAMP):
        return None
    return TimeKey(place, lambda one: day_key(day(one), family))


def _day_of(node: exp.Expr, itself: tuple[exp.Expr, exp.Expr]) -> _Day | None:
    """Return the day of an expression's value as a function of the column's day; None where there is none."""
    node = _plain(node)
    if node in itself:
        return lambda one: one
    if isinstance(node, exp.TimestampTrunc):
        unit, day = node.args["unit"].name.lower(), _day_of(node.this, itself)
        return None if unit not in _UNITS or day is None else lambda one: floor(day(one), unit)
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.DATE:
        return _day_of(node.this, itself)
    return None


def _plain(node: exp.Expr) -> exp.Expr:
    """Remove parentheses, and casts that do not change the day."""
    inner: exp.Expr = node.unnest()
    while isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP:
        inner = inner.this.unnest()
    return inner


_MOST_STEPS = 6
_MOST_WAYS = 24
"""The most references and steps that a check of every row follows."""

OWN = ""
"""The way without steps: the row itself."""


@dataclass(frozen=True)
class Way:
    """A chain of references from a row to another.

    Attributes:
      name: the steps, each with its columns; fingerprints are recorded under it.
      before: the way without its last step.
      key: the last step's foreign key.
      table: where it leads.
    """

    name: str
    before: str
    key: ForeignKey
    table: Table


def ways(table: Table, schema: Schema, policy: Policy) -> tuple[Way, ...]:
    """Return the ways from a table's rows, shorter ones first. No way enters a table twice.

    Only references to a whole key of the parent are followed, with readable columns. Others may find several rows, or
    rows that cannot be compared.

    Args:
      policy: whose foreign keys count as the catalog's.
    """
    graph = ownership(schema, policy)
    found: list[Way] = []
    waiting: list[tuple[str, Table, tuple[str, ...]]] = [(OWN, table, (table.name,))]
    while waiting:
        before, child, passed = waiting.pop(0)
        if len(passed) > _MOST_STEPS:
            continue
        for key in graph.foreign_keys(child.name):
            parent = schema.tables.get(key.references)
            if parent is None or parent.name in passed or not _finds_one(child, key, parent):
                continue
            if len(found) == _MOST_WAYS:
                return tuple(found)
            found_by = "" if key.key == parent.keys[0] else f" by ({', '.join(key.key)})"
            name = f"{before}/{parent.name} ({', '.join(key.columns)}){found_by}"
            found.append(Way(name, before, key, parent))
            waiting.append((name, parent, (*passed, parent.name)))
    return tuple(found)


def prefixes(name: str, known: tuple[Way, ...]) -> Iterator[str]:
    """Yield a way's name and the names of its beginnings: the rows between must be the same, too."""
    by_name = {way.name: way for way in known}
    while name != OWN:
        yield name
        name = by_name[name].before
    yield OWN


def _finds_one(child: Table, key: ForeignKey, parent: Table) -> bool:
    readable = all(map(child.column, key.columns)) and all(map(parent.column, key.key))
    return readable and any(set(unique) <= set(key.key) for unique in parent.keys)


_MOST_DAYS = 60_000
"""Group keys are computed day by day for at most so many days, more than 150 years."""

MOST_RUNS = 24
"""The most stretches of days in one narrowed question."""

TimeValues = tuple[KeyCell, ...]
"""The values of a question's time keys; empty for a question without them."""


@dataclass(frozen=True)
class PeriodScope:
    """The rows that decide a question's answer.

    Attributes:
      table: the append-only table, the anchor.
      alias, column: of its day column in the bound query.
      ways: the references to the other private rows, with their beginnings; OWN is one of them.
      whole: the public tables that must not have changed.
      first, last: the days that conditions leave; None means no end.
      declared: the declared range of days.
      keys: the time keys.
    """

    table: str
    alias: str
    column: str
    ways: tuple[str, ...]
    whole: tuple[str, ...]
    first: date | None
    last: date | None
    declared: Span | None
    keys: tuple[TimeKey, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """Places of the time keys in the plan; none where their days cannot be listed."""
        return tuple(key.place for key in self.keys) if self._days() is not None else ()

    @property
    def grouped(self) -> Run:
        """The days whose rows are in a group: with time keys, those of the declared range."""
        return (None, None) if self.declared is None or not self.places else self.declared

    def classes(self) -> Mapping[TimeValues, tuple[Run, ...]]:
        """Map each value of the time keys to its stretches of days, in order.

        Rows outside of the declared range fall into no group. They count to the first and the last day.

        Cost: linear in the days.
        """
        days = self._days()
        if not self.places or days is None:
            return {(): ((self.first, self.last),)}
        lo, hi = days
        found: dict[TimeValues, list[list[date]]] = {}
        for ordinal in range(lo.toordinal(), hi.toordinal() + 1):
            day = date.fromordinal(ordinal)
            runs = found.setdefault(tuple(key.of_day(day) for key in self.keys), [])
            if runs and runs[-1][1].toordinal() == ordinal - 1:
                runs[-1][1] = day
            else:
                runs.append([day, day])
        return {
            values: tuple((self.first if a == lo else a, self.last if b == hi else b) for a, b in runs)
            for values, runs in found.items()
        }

    def narrowed(self, bound: BoundQuery, runs: Sequence[Run]) -> BoundQuery:
        """Return the question about some days alone.

        Args:
          runs: stretches that do not touch, in order; not all days.
        """
        within = [self._within(run) for run in runs]
        assert all(within), "a stretch without ends is no narrowing"
        if len(within) == 1:
            return replace(bound, predicates=(*bound.predicates, *within[0]))
        parts = (one[0] if len(one) == 1 else exp.Paren(this=exp.and_(*one, copy=False)) for one in within)
        return replace(bound, predicates=(*bound.predicates, exp.Paren(this=exp.or_(*parts, copy=False))))

    def _within(self, run: Run) -> list[exp.Expr]:
        """Return the conditions of a stretch, in the form that `planner.group_domains.day_conditions` reads."""
        first, last = run
        ends: list[exp.Expr] = []
        if first is not None:
            ends.append(exp.GTE(this=bound_column(self.alias, self.column), expression=moment_sql(first)))
        if last is not None:
            after = moment_sql(last + timedelta(days=1))
            ends.append(exp.LT(this=bound_column(self.alias, self.column), expression=after))
        return ends

    def _days(self) -> tuple[date, date] | None:
        """Return the first and the last day to list; None where they are too many or have no end."""
        low, high = self.declared or (None, None)
        firsts = [day for day in (self.first, low) if day is not None]
        lasts = [day for day in (self.last, high) if day is not None]
        if not firsts or not lasts or not self.keys:
            return None
        first, last = max(firsts), min(lasts)
        return (first, last) if 0 <= (last - first).days < _MOST_DAYS else None


def period_scope(bound: BoundQuery, schema: Schema, policy: Policy) -> PeriodScope | None:
    """Return a question's scope; None where it has none.

    Cost: one more search for owners where the policy has an append-only table; else nothing.
    """
    anchors = [entry for entry in bound.tables if _may_anchor(entry, policy)]
    simple = not any(entry.person or entry.rows or entry.optional or entry.sample for entry in bound.tables)
    if not anchors or not simple or not _public_only(bound, policy):
        return None
    found = provenance(bound, schema, policy)
    scopes = (_anchored(entry, bound, found, schema, policy) for entry in anchors)
    return next((scope for scope in scopes if scope is not None), None)


def _may_anchor(entry: BoundTable, policy: Policy) -> bool:
    declared = policy.tables.get(entry.table.name)
    return declared is not None and declared.append_only is not None and entry.outer is None


def _public_only(bound: BoundQuery, policy: Policy) -> bool:
    """Are all rows public that EXISTS and IN look for?"""
    inner = [entry for one in bound.semi_joins for entry in one.tables]
    return all(policy.is_public(entry.table.name) and entry.person is None for entry in inner)


def _anchored(
    anchor: BoundTable, bound: BoundQuery, found: Provenance, schema: Schema, policy: Policy
) -> PeriodScope | None:
    promise = policy.tables[anchor.table.name].append_only
    assert promise is not None, "an anchor has one"
    known = ways(anchor.table, schema, policy)
    placed = _placed(anchor, bound, found, known)
    others = [entry.table.name for entry in bound.tables if entry.alias not in placed]
    completed = all(one.alias in placed for one in found.completions)
    if not completed or not all(map(policy.is_public, others)):
        return None
    inner = [entry.table.name for one in bound.semi_joins for entry in one.tables]
    first, last = days_left(bound.predicates, (anchor.alias, promise.column), ALWAYS)
    if last < first:
        return None
    used = {name for way in placed.values() for name in prefixes(way, known)}
    kind = column_type(anchor.table, promise.column)
    declared = policy.column(anchor.table.name, promise.column).dates
    column = (anchor.alias, promise.column)
    keys = (time_key(place, key, column, kind, declared) for place, key in enumerate(bound.keys))
    return PeriodScope(
        table=anchor.table.name,
        alias=anchor.alias,
        column=promise.column,
        ways=tuple(sorted(used)),
        whole=tuple(sorted({*others, *inner})),
        first=None if first == ALWAYS[0] else first,
        last=None if last == ALWAYS[1] else last,
        declared=declared,
        keys=tuple(key for key in keys if key is not None),
    )


def _placed(anchor: BoundTable, bound: BoundQuery, found: Provenance, known: Sequence[Way]) -> dict[str, str]:
    """Return the tables whose row references find from the anchor's: the way by alias."""
    placed = {anchor.alias: OWN}
    optional = {
        entry.alias: set(equal_columns(entry.outer, bound)) for entry in bound.tables if entry.outer is not None
    }

    def equal(left: tuple[str, str], right: tuple[str, str]) -> bool:
        if right[0] in optional:
            return not optional[right[0]].isdisjoint({(left, right), (right, left)})
        return found.equalities.same(left, right)

    def steps() -> Iterator[tuple[str, str]]:
        for alias, before in list(placed.items()):
            for way in known:
                if way.before != before:
                    continue
                pairs = list(zip(way.key.columns, way.key.key, strict=True))
                for one in found.completions:
                    if one.child == alias and one.key == way.key:
                        yield one.alias, way.name
                for entry in bound.tables:
                    same = entry.table.name == way.table.name
                    if same and all(equal((alias, name), (entry.alias, above)) for name, above in pairs):
                        yield entry.alias, way.name

    while more := [(alias, way) for alias, way in steps() if alias not in placed]:
        placed.update(dict(more))
    return placed
