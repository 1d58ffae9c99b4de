"""The outline of a question whose answer is kept: its rows, conditions, groups and weights, by their hashes.

The ledger keeps no text of a question. What a later question asks is at hand when it is asked, so hashes are enough
to see that an earlier one counted the same rows by the same weights: what is not equal to the letter is not used.
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
"""Fields of a moment that are a span of time within a year, and of how many months each."""

REUSABLE = frozenset({"gem", "group_lp", "bound_first", "l1_clip", "l2_clip", "joint_scale", "fixed"})
"""Mechanisms whose noises, one in every group, are independent of one another once the thresholds are known, and of a
public scale then: what is chosen is chosen with noise of its own, and the release draws for each group anew
(`privacy.mechanisms.release`; `l1_clip` and `l2_clip` draw one noise per group themselves). Not those that race
thresholds or draw a rank, whose noise is part of the choice."""


@dataclass(frozen=True)
class Period:
    """Of a group key that is the beginning of a moment's year, month, ..., day or second: whose.

    Attributes:
      unit: of time.
      of: hashes of the expressions that hold the moment: as it is truncated, and without its casts.
      columns: hashes of what is NULL outside of a range before that; empty where nothing is.
      first, last: that range then, in ISO 8601.
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
      inner: the same without the cast that gives all spellings one form; of a key that is a column, the column's.
      kind: its type in an answer.
      is_column: is it a column?
      period: of a key that is the beginning of a unit of time.
      lacks_null, lacks_others: are rows left out whose value is NULL, or not among the declared ones?
      within: hash of each condition without which a row has no group.
      read: of another key that reads one moment alone: whose, and what is NULL outside of a range before.
      field: which field of that moment the key is, of those that a year makes a span of time; or nothing.
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
      name: hash of weight, bound and kind; None where nothing can follow from it.
      adds_up: is it a sum over rows with noises of `REUSABLE`, so that of several groups together it is the sum of
        theirs? Of any other release a group's value stands for that group alone.
      cut: hash of how contributions are cut at tau: equal for releases that estimate one number at equal thresholds.
      where: hashes of further conditions under which a row counts, sorted: those of FILTER, and not being NULL.
    """

    name: str | None
    adds_up: bool
    cut: str
    where: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[str | None, tuple[str, ...]]:
        """What it counts of the rows of its question."""
        return self.name, self.where


@dataclass(frozen=True)
class DayOutline:
    """A question's conditions once more, its days apart, by the day column of one append-only table.

    Attributes:
      column: hash of the day column.
      conditions: hashes of the conditions that are not of days alone, sorted.
      runs: the stretches of days; None: without an end.
    """

    column: str
    conditions: tuple[str, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Outline:
    """What may be known of a kept answer's question without its text.

    Attributes:
      rows: hash of the join without its conditions, and of who owns its tuples.
      data_version: the custodian's.
      conditions: hash of each condition of WHERE, sorted, in the form of `planner.reuse.normal_form`.
      keys: of GROUP BY, in order.
      releases: in order.
      days: per append-only table that is joined, of which days its rows are.
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
    """The outline of a question that has been answered; None where nothing but its very answer may follow from it.

    That is so of samples, of answers that leave groups out, of group keys that were found among private rows, and
    where a rule of groups per unit left rows out.

    Args:
      plan: the question.
      data_version: the custodian's.
      n_groups: how many groups the answer has.
      shown: are these all groups that there may be?
      released: by which mechanism each release was released, and with which noise.
      day_columns: of the append-only tables that are joined.
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
            _cut(plan, mechanism, noise, n_groups, together),
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
    """Hash of which rows a question reads before its conditions, and whose they are."""
    return rows_of_state(plan, plan.fingerprint)


def rows_of_state(plan: Plan, fingerprint: str) -> str:
    """The same, had the database's structure, or the state of its files, another fingerprint."""
    joined = plan.source.copy()
    joined.set("where", None)
    owners = [f"{owner.relation}: {owner.key.sql('postgres')}" for owner in plan.owners]
    return text_hash("\n".join([fingerprint, joined.sql("postgres"), *owners]))


def renamed(column: DayColumn, ordered: Ordered) -> DayColumn:
    """A day column as an ordered plan has it."""
    return replace(column, alias=ordered.aliases.get(column.alias, column.alias))


def day_outline(plan: Plan, column: DayColumn) -> DayOutline | None:
    """The conditions with the days apart; None where they leave no day, or rows of no day."""
    found = split_days(conditions(plan), column)
    if found is None:
        return None
    days, others = found
    return DayOutline(tree_hash(column.written), names_of(conjuncts(others)), tuple(days))


def conditions(plan: Plan) -> list[exp.Expr]:
    """The conditions of WHERE, all of which a row that counts passes."""
    where = plan.source.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def condition_names(plan: Plan) -> tuple[str, ...]:
    """The hashes of a plan's conditions, sorted: the order in which they are written says nothing."""
    return names_of(conjuncts(conditions(plan)))


def names_of(parts: Iterable[exp.Expr]) -> tuple[str, ...]:
    """The hashes of conditions that all hold, each once, sorted."""
    return tuple(sorted({condition_name(one) for one in parts}))


def condition_name(condition: exp.Expr) -> str:
    """The hash of a condition, whether it stands in parentheses or not."""
    return tree_hash(condition.unnest())


def release_name(release: Release) -> str | None:
    """Hash of what a release counts or ranks of whichever rows; None for products around means of others, and where
    who exceeds a threshold is counted, which is of one question's groups together."""
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
    """The outline of one group key."""
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
    """A key's expression without the cast that gives all its spellings one form."""
    sql = key.key
    canonical = isinstance(sql, exp.Cast) and sql.to.this in (exp.DataType.Type.TEXT, exp.DataType.Type.BIGINT)
    return sql.this.unnest() if canonical and isinstance(sql, exp.Cast) else sql


def _cut(plan: Plan, mechanism: str, noise: str, n_groups: int, together: Sequence[object]) -> str:
    """Truncated in each group, in total, in length, by one factor for all sums, or with capacities of kinds."""
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
    """What unit of which moment an expression is the beginning of."""
    unit, inner = _unit_of(tree)
    if unit is None:
        return None
    return _of_moment(unit, inner)


def _read(tree: exp.Expr) -> Period | None:
    """The one moment that an expression reads, each time made NULL outside of a range; None where it reads others."""
    cases = {tree_hash(case): case for case in tree.find_all(exp.Case) if _moored(case) is not None}
    if len(cases) != 1:
        return None
    ((name, case),) = cases.items()
    inside = {id(node) for one in tree.find_all(exp.Case) if tree_hash(one) == name for node in one.walk()}
    if any(id(column) not in inside for column in tree.find_all(exp.Column)):
        return None
    return _of_moment("day", case)


def _field(tree: exp.Expr) -> str:
    """MONTH or QUARTER of `extract(month FROM x)`, which a year makes a span of time; nothing of another key."""
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
    moored = _moored(inner)
    if moored is None:
        return Period(unit, tuple(of))
    column, first, last = moored
    named = [column]
    while isinstance(column, (exp.Paren, exp.AtTimeZone)):
        column = column.this
        named.append(column)
    if not isinstance(column, exp.Column):
        return Period(unit, tuple(of))
    ends = first.isoformat(" "), last.isoformat(" ")
    return Period(unit, tuple(of), tuple(map(tree_hash, named)), *ends, whole_days and len(named) == 1)


def _unit_of(tree: exp.Expr) -> tuple[TimeUnit | None, exp.Expr]:
    """The unit of `date_trunc('unit', x)`, of a cast of it, of a cast to a date, or of a year's number; and x."""
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
    """What a CASE makes NULL outside of a range, and that range.

    As `planner.expressions.datetimes.moored` writes it, and nothing else.
    """
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
