"""Outline a question whose answer is cached: hashes of its rows, conditions, groups and weights.

The ledger has no text of a question. The later question is at hand, so equal hashes are enough to see that both count
the same rows by the same weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

from sqlglot import exp

from planner.group_domains.day_conditions import DayColumn, Run, split_days
from planner.plan import GroupKey, Plan, Products, Release
from planner.reuse.fact import TimeUnit, moment_of
from planner.reuse.normal_form import Ordered, conjuncts, counted, text_hash, tree_hash
from planner.sql.sql_types import ResultType

FIELDS: Mapping[str, int] = {"MONTH": 1, "QUARTER": 3}
"""Fields of a moment that are a span of time within a year, with their lengths in months."""

REUSABLE = frozenset({"gem", "group_lp", "bound_first", "l1_clip", "l2_clip", "joint_scale", "fixed"})
"""Mechanisms with independent noise in every group, of a public scale once the clipping thresholds are known. The
choice of a threshold has noise of its own, and the release draws again for each group (`privacy.mechanisms.release`).
Mechanisms that race thresholds or draw a rank are not among them: there the noise is part of the choice."""


@dataclass(frozen=True)
class Period:
    """The moment behind a group key that is its year, month, day or another unit of time.

    Attributes:
      unit: of time.
      of: hashes of the expressions that hold the moment: as truncated, and without casts.
      columns: hashes of what was NULL outside of a declared range before; empty without one.
      first, last: that range, in ISO 8601.
      whole_days: is the moment a date?
    """

    unit: TimeUnit
    of: tuple[str, ...]
    columns: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None
    whole_days: bool = False


@dataclass(frozen=True)
class KeyOutline:
    """One group key.

    Attributes:
      name: hash of its SQL.
      inner: the same without the cast that gives all spellings one form.
      kind: its type in an answer.
      is_column: is it a column?
      period: of a key that is the beginning of a unit of time.
      lacks_null, lacks_others: are rows with NULL, or with undeclared values, left out?
      within: hashes of the conditions without which a row has no group.
      read: of another key that reads one moment: that moment.
      field: `MONTH` or `QUARTER` where the key is that field of the moment; else empty.
    """

    name: str
    inner: str
    kind: ResultType
    is_column: bool = False
    period: Period | None = None
    lacks_null: bool = False
    lacks_others: bool = False
    within: tuple[str, ...] = ()
    read: Period | None = None
    field: str = ""


@dataclass(frozen=True)
class ReleaseOutline:
    """One release.

    Attributes:
      name: hash of weight, bound and kind; None where nothing can be derived from it.
      adds_up: is it a sum over rows with noise of `REUSABLE`, so that groups may be added up?
      cut: hash of how contributions are clipped. Where it and the thresholds are equal, two releases estimate one
        number.
      where: hashes of further conditions under which a row counts, sorted: FILTER, and not NULL.
    """

    name: str | None
    adds_up: bool
    cut: str
    where: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[str | None, tuple[str, ...]]:
        """What it counts of the question's rows."""
        return self.name, self.where


@dataclass(frozen=True)
class DayOutline:
    """A question's conditions with the days apart, by the day column of one append-only table.

    Attributes:
      column: hash of the day column.
      conditions: hashes of the conditions that are not on days alone, sorted.
      runs: the stretches of days; None means no end.
    """

    column: str
    conditions: tuple[str, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Outline:
    """What is known of a cached answer's question without its text.

    Attributes:
      rows: hash of the join without conditions, its owners, and the part of the policy that it relies on.
      data_version: of the data that it was measured over.
      conditions: hash of each condition of WHERE, sorted, in normal form.
      keys: of GROUP BY, in order.
      releases: in order.
      days: for each append-only table of the join, the days of its rows.
    """

    rows: str
    data_version: int
    conditions: tuple[str, ...]
    keys: tuple[KeyOutline, ...]
    releases: tuple[ReleaseOutline, ...]
    days: tuple[DayOutline, ...] = ()


def outline(
    plan: Plan,
    data_version: int,
    n_groups: int,
    shown: bool,
    released: Sequence[tuple[str, str]],
    day_columns: Sequence[DayColumn] = (),
) -> Outline | None:
    """Outline a measured question; None where no other answer can be derived from it.

    None for samples, for answers that leave groups out, for selected group keys, and where a rule of groups per unit
    left rows out.

    Args:
      shown: are these all groups that there may be?
      released: mechanism and noise of each release.
      day_columns: of the append-only tables in the join.
    """
    cuts = plan.bounds.rule is not None and n_groups > plan.bounds.rule
    found = any(domain.selects_partitions for domain in plan.domains)
    if plan.sampling is not None or plan.selection is not None or found or cuts or not shown:
        return None
    ordered = Ordered.of(plan)
    plan = ordered.plan
    together = [(release_name(release), names_of(counted(release)[1])) for release in plan.releases]
    releases = tuple(
        ReleaseOutline(
            name,
            release.is_sum and mechanism in REUSABLE,
            _clipping(plan, mechanism, noise, n_groups, together),
            where,
        )
        for release, (mechanism, noise), (name, where) in zip(plan.releases, released, together, strict=True)
    )
    if not any(release.name for release in releases):
        return None
    return Outline(
        rows(plan),
        data_version,
        condition_names(plan),
        tuple(map(key_outline, plan.group_keys)),
        releases,
        tuple(one for column in day_columns if (one := day_outline(plan, renamed(column, ordered))) is not None),
    )


def rows(plan: Plan) -> str:
    """Hash a question's rows before its conditions, their owners, and the part of the policy that it relies on."""
    return rows_of_state(plan, plan.fingerprint)


def rows_of_state(plan: Plan, fingerprint: str) -> str:
    """As `rows`, with another fingerprint of the database's structure or files."""
    joined = plan.source.copy()
    joined.set("where", None)
    owners = [f"{owner.relation}: {owner.key.sql('postgres')}" for owner in plan.owners]
    return text_hash("\n".join([fingerprint, plan.relied_on, joined.sql("postgres"), *owners]))


def renamed(column: DayColumn, ordered: Ordered) -> DayColumn:
    """Return a day column by its alias in an ordered plan."""
    return replace(column, alias=ordered.aliases.get(column.alias, column.alias))


def day_outline(plan: Plan, column: DayColumn) -> DayOutline | None:
    """Split the days off a plan's conditions; None where a row may have no day, or no day is left."""
    found = split_days(conditions(plan), column)
    if found is None:
        return None
    days, others = found
    return DayOutline(tree_hash(column.written), names_of(conjuncts(others)), tuple(days))


def conditions(plan: Plan) -> list[exp.Expr]:
    """Return the conjuncts of WHERE."""
    where = plan.source.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def condition_names(plan: Plan) -> tuple[str, ...]:
    """Return the hashes of a plan's conditions, sorted."""
    return names_of(conjuncts(conditions(plan)))


def names_of(parts: Iterable[exp.Expr]) -> tuple[str, ...]:
    """Return the hashes of conditions that all hold, each once, sorted."""
    return tuple(sorted({condition_name(one) for one in parts}))


def condition_name(condition: exp.Expr) -> str:
    """Hash a condition, with or without parentheses."""
    return tree_hash(condition.unnest())


def release_name(release: Release) -> str | None:
    """Hash what a release counts or ranks.

    None for products around the means of other rows, and where units above a threshold are counted: both are of one
    question's groups together.
    """
    if isinstance(release.around, Products) or release.counts_exceeding:
        return None
    values = "" if release.distinct is None else f"{release.distinct.sql('postgres')} {release.determined}"
    facts = [counted(release)[0].sql("postgres"), float(release.weight_bound).hex(), values]
    facts += [] if release.less is None else [release.less.sql("postgres")]
    facts += [] if release.around is None else [type(release.around).__name__]
    if (ranked := release.ranked) is not None:
        facts += [ranked.place.sql("postgres"), repr(ranked.grid), repr(ranked.rank)]
    return text_hash("\n".join(facts))


def key_outline(key: GroupKey) -> KeyOutline:
    """Outline one group key."""
    inner = written(key)
    omitted = key.omitted or ""
    is_column = isinstance(inner, exp.Column)
    period = None if is_column else _period(inner)
    read = _read(inner) if period is None else None
    known = period or read
    ranged = known is not None and known.first is not None
    lacks = "NULL" in omitted or ranged, "declared" in omitted or ("not from" in omitted and not ranged)
    # A sentence names columns, too: one that is called "declared" makes more seem left out than is.
    names = tree_hash(key.key), tree_hash(inner)
    within = tuple(map(condition_name, key.within))
    return KeyOutline(*names, key.type, is_column, period, *lacks, within, read, _field(inner))


def written(key: GroupKey) -> exp.Expr:
    """Return a key's expression without the cast that gives all its spellings one form."""
    sql = key.key
    canonical = isinstance(sql, exp.Cast) and sql.to.this in (exp.DataType.Type.TEXT, exp.DataType.Type.BIGINT)
    return sql.this.unnest() if canonical and isinstance(sql, exp.Cast) else sql


def _clipping(plan: Plan, mechanism: str, noise: str, n_groups: int, together: Sequence[object]) -> str:
    """Hash how contributions are clipped: per group, in total, by norm, by one factor, or by kind of unit."""
    facts: list[object] = ["each group"]
    if mechanism == "l1_clip":
        facts = ["total", n_groups]
    elif mechanism == "l2_clip":
        facts = ["length", n_groups]
    elif mechanism == "joint_scale":
        apart = n_groups == 1 or (plan.bounds.groups is not None and plan.bounds.groups <= 2)
        facts = ["one factor", *together] if apart else ["one factor for all groups", n_groups, *together]
    elif plan.bounds.kinds and mechanism == "group_lp":
        facts = ["kinds", plan.bounds.kinds, n_groups, plan.bounds.groups, noise]
    return text_hash(repr(facts))


def _period(tree: exp.Expr) -> Period | None:
    """Return the unit and the moment that an expression truncates."""
    unit, inner = _unit_of(tree)
    if unit is None:
        return None
    return _of_moment(unit, inner)


def _read(tree: exp.Expr) -> Period | None:
    """Return the one moment that an expression reads, within its declared range; None where it reads others."""
    cases = {tree_hash(case): case for case in tree.find_all(exp.Case) if _moored(case) is not None}
    if len(cases) != 1:
        return None
    ((name, case),) = cases.items()
    inside = {id(node) for one in tree.find_all(exp.Case) if tree_hash(one) == name for node in one.walk()}
    if any(id(column) not in inside for column in tree.find_all(exp.Column)):
        return None
    return _of_moment("day", case)


def _field(tree: exp.Expr) -> str:
    """Return MONTH or QUARTER for `extract(month FROM x)`, else an empty text."""
    name = tree.this.name.upper() if isinstance(tree, exp.Extract) else ""
    return name if name in FIELDS else ""


def _of_moment(unit: TimeUnit, inner: exp.Expr) -> Period:
    of = [tree_hash(inner)]
    whole_days = isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP
    while isinstance(inner, exp.Paren) or (
        isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP
    ):
        inner = inner.this
        of.append(tree_hash(inner))
    if not isinstance(inner, exp.Case):
        return Period(unit, tuple(of), whole_days=whole_days and isinstance(inner, exp.Column))
    bounded_moment = _moored(inner)
    if bounded_moment is None:
        return Period(unit, tuple(of))
    column, first, last = bounded_moment
    named = [column]
    while isinstance(column, (exp.Paren, exp.AtTimeZone)):
        column = column.this
        named.append(column)
    if not isinstance(column, exp.Column):
        return Period(unit, tuple(of))
    ends = first.isoformat(" "), last.isoformat(" ")
    return Period(unit, tuple(of), tuple(map(tree_hash, named)), *ends, whole_days and len(named) == 1)


def _unit_of(tree: exp.Expr) -> tuple[TimeUnit | None, exp.Expr]:
    """Return the unit of `date_trunc('unit', x)`, of its casts, of a cast to a date or of a year's number; and x."""
    if isinstance(tree, exp.Paren):
        return _unit_of(tree.this)
    if isinstance(tree, exp.TimestampTrunc):
        unit = tree.args["unit"].name.lower()
        return (unit if unit in get_args(TimeUnit) else None), tree.this
    if isinstance(tree, exp.Extract):
        return ("year" if tree.this.name.upper() == "YEAR" else None), tree.expression
    if not isinstance(tree, exp.Cast):
        return None, tree
    unit, inner = _unit_of(tree.this)
    if tree.to.this is exp.DataType.Type.TIMESTAMP:
        return unit, inner
    if tree.to.this is exp.DataType.Type.DATE:
        return ("day", tree.this) if unit in (None, "hour", "minute", "second") else (unit, inner)
    return None, tree


def _moored(case: exp.Case) -> tuple[exp.Expr, datetime, datetime] | None:
    """Read a CASE that is NULL outside of a range, as `planner.expressions.datetimes.bounded_moment` writes it."""
    branches = case.args["ifs"]
    between = branches[0].this
    if case.args.get("this") is not None or case.args.get("default") is not None:
        return None
    if not isinstance(between, exp.Between) or branches[0].args["true"] != between.this:
        return None
    column, low, high = between.this, between.args["low"], between.args["high"]
    first, last = _literal(low), _literal(high)
    return None if first is None or last is None or len(branches) > 1 else (column, first, last)


def _literal(node: exp.Expr) -> datetime | None:
    inner = node.this if isinstance(node, exp.Cast) else None
    return moment_of(inner.name) if isinstance(inner, exp.Literal) and inner.is_string else None
