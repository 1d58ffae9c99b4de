"""Write a Plan, or a query over public tables, as the statements of a database's dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from sqlglot import exp

from planner.plan import BackendQuery, Plan, Release
from planner.public.relation import PublicQuery, PublicStatement
from planner.rewriting.attach_late import attach_late
from planner.rewriting.compact_tuples import compact, count_tuples, total_sql
from planner.rewriting.contributions import (
    CONTRIBUTIONS,
    EACH,
    KNOWN,
    VALUES,
    count_contributions,
    count_values,
    rows_with_group,
    scale_contributions,
)
from planner.rewriting.dialects.dialect_table import DIALECTS, DialectSql
from planner.rewriting.dialects.postgres import postgres_sql
from planner.rewriting.read_nan_as_null import nan_columns, read_nan_as_null
from planner.schema import Dialect, Schema
from planner.sql.trees import add_conditions, copied, quoted, tables_by_alias
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import histogram_thresholds

Write = Callable[[exp.Expr], str]


def rewrite(
    plan: Plan,
    *,
    dialect: Dialect = "postgres",
    schema: Schema | None = None,
    contributions: bool = True,
    thresholds: tuple[int, ...] | None = None,
    kept: str | None = None,
) -> BackendQuery:
    """Write the plan as SQL: one statement for all sums, and one for each count of distinct values.

    The text depends on the plan alone. All identifiers are quoted, and all literals were read by the planner. About
    0.5 ms for TPC-H Q5.
    Args:
      schema: the plan's catalog, which says where NaN is read as NULL; None: for people, without NaN.
      contributions: may the database count or scale contributions where the plan allows it? Else units are read.
      thresholds: at which it counts, rising, in units; None: the plan's candidate thresholds.
      kept: a statement that already has the contributions of `contributions_sql`, in the dialect.
    Raises: UnsupportedSQL for what the dialect cannot express with the same meaning.
    """
    write = partial(_written, DIALECTS[dialect], schema)
    source: exp.Select = copied(plan.source)
    add_conditions(source, dict.fromkeys(condition for key in plan.group_keys for condition in key.within))
    plan = replace(plan, source=source)
    summed = summed_weights(plan)
    along = None if plan.sampling is None else plan.sampling.tree
    counted = plan.sampling is not None and plan.sampling.alias is None and along is None
    by_contributions = contributions and plan.counts_contributions
    known = _known(plan, write)
    thresholds = _thresholds(plan) if thresholds is None else thresholds
    values = tuple(_distinct(plan, release, write) for release in plan.releases)
    counted_values = tuple(
        _values(plan, release, value, known, thresholds, dialect)
        if contributions and value and plan.counts_contributions_of(release)
        else None
        for release, value in zip(plan.releases, values, strict=True)
    )
    as_they_are = by_contributions and plan.counts_norms and plan.mechanism != "l2_clip"
    merged = not as_they_are and (by_contributions or not plan.lone)
    join = kept or (write(_summed(plan, summed, counted, merged=merged)) if summed and along is None else None)
    of_owners = _of_owners(plan, summed, write, schema) if by_contributions and merged and not kept else None
    return BackendQuery(
        join=join,
        contributions=_contributions(plan, len(summed), of_owners or join or "", known, thresholds, dialect)
        if by_contributions
        else None,
        distinct_contributions=counted_values if any(counted_values) else (),
        by_norm=by_contributions and plan.counts_norms,
        values_by_norm=any(map(plan.adds_up, plan.releases)) and any(counted_values),
        thresholds=thresholds if by_contributions or any(counted_values) else (),
        distinct=values,
        parts=() if along is None else tuple(map(write, along.selects)),
        tree=None if along is None else along.shape,
        relations=tuple(owner.relation for owner in plan.owners),
        domains=tuple(None if one.statement is None else write(one.statement) for one in plan.domains),
        values=tuple(domain.values for domain in plan.domains),
        n_releases=len(summed) + counted,
        fingerprint=plan.fingerprint,
        sampling_rate=plan.sampling.rate if plan.sampling else None,
        counted=counted,
        domain_keys=tuple(domain.keys for domain in plan.domains),
        columns=plan.columns,
        ranked=tuple(place for place, release in enumerate(plan.releases) if release.ranked is not None),
    )


def summed_weights(plan: Plan) -> list[exp.Expr]:
    """The weights that are added up: of the sums, of what is subtracted, and of the selection of groups."""
    summed = [release.weight for release in plan.releases if release.is_sum]
    summed += [release.less for release in plan.releases if release.less is not None]
    return summed if plan.selection is None else [*summed, plan.selection.weight]


def contributions_sql(plan: Plan, weights: list[exp.Expr], schema: Schema) -> str:
    """PostgreSQL's statement for what each owner adds to sums of these weights: columns o0, w0, ..."""
    return _written(DIALECTS["postgres"], schema, _summed(plan, weights, counted=False, merged=True))


def _thresholds(plan: Plan) -> tuple[int, ...]:
    chosen = [
        release
        for release in plan.releases
        if release.ranked is None and (plan.adds_up(release) or not release.determined)
    ]
    # Threshold one serves partition selection and counts of people.
    threshold_sets = [Thresholds(0, 0), *map(plan.thresholds, chosen)]
    return histogram_thresholds(threshold_sets, plan.bounds.tuples)


def _written(dialect: DialectSql, schema: Schema | None, tree: exp.Expr) -> str:
    if schema is not None:
        tree = read_nan_as_null(tree, dict(tables_by_alias(tree, schema)), schema)
    return dialect.question(tree, schema)


def _of_owners(plan: Plan, weights: list[exp.Expr], write: Write, schema: Schema | None) -> str | None:
    """The contributions of each unit, if tables that only describe the unit can be joined afterwards."""
    if schema is None:
        return None
    keys = [key.key for key in plan.group_keys]
    late = attach_late(plan.source, plan.owners[0].key, keys, weights, schema)
    return None if late is None else write(late)


def _contributions(
    plan: Plan, n_weights: int, of_owners: str, known: dict[str, str], thresholds: Sequence[int], dialect: Dialect
) -> str:
    """Count or scale the contributions of each unit."""
    if plan.counts_norms:
        euclidean = plan.mechanism == "l2_clip"
        again = () if euclidean else (CONTRIBUTIONS, EACH)  # rereading unmerged tuples is faster than storing them
        return _scaled(plan, n_weights, {**known, CONTRIBUTIONS: of_owners}, thresholds, dialect, euclidean, again)
    counted = _counting(len(plan.group_keys), n_weights, tuple(thresholds), dialect)
    return _with({CONTRIBUTIONS: of_owners}, counted, dialect)


def _values(
    plan: Plan, release: Release, distinct: str, known: dict[str, str], thresholds: Sequence[int], dialect: Dialect
) -> str:
    """Count or scale the number of values of each unit."""
    if plan.adds_up(release):
        return _scaled(plan, 1, {**known, CONTRIBUTIONS: distinct}, thresholds, dialect)
    write = DIALECTS[dialect].contributions
    before = {VALUES: distinct, CONTRIBUTIONS: write(count_values(len(plan.group_keys)))}
    return _with(before, _counting(len(plan.group_keys), 1, tuple(thresholds), dialect), dialect)


def _scaled(
    plan: Plan,
    n_weights: int,
    before: dict[str, str],
    thresholds: Sequence[int],
    dialect: Dialect,
    euclidean: bool = False,
    again: Sequence[str] = (),
) -> str:
    """Scale contributions by norm, over the rows that have a group."""
    known, n_keys = plan.known_keys, len(plan.group_keys)
    assert known is not None, "the statement can tell which rows have a group"
    scaled = dict(_scaling(n_keys, n_weights, tuple(thresholds), euclidean, dialect))
    scaled[EACH] = DIALECTS[dialect].contributions(rows_with_group(n_keys, n_weights, known))
    statement = scaled.pop("")
    return _with({**before, **scaled}, statement, dialect, again)


@lru_cache(maxsize=256)  # a policy has few thresholds, and their CASE is the longest part of most statements
def _counting(n_keys: int, n_weights: int, thresholds: tuple[int, ...], dialect: Dialect) -> str:
    one = DIALECTS[dialect]
    return one.contributions(count_contributions(n_keys, n_weights, thresholds, looked_up=one.looks_up))


@lru_cache(maxsize=256)
def _scaling(
    n_keys: int, n_weights: int, thresholds: tuple[int, ...], euclidean: bool, dialect: Dialect
) -> tuple[tuple[str, str], ...]:
    one = DIALECTS[dialect]
    relations = scale_contributions(
        n_keys, n_weights, thresholds, euclidean=euclidean, known={}, looked_up=one.looks_up
    )
    return tuple((name, one.contributions(tree)) for name, tree in relations.items())


def _known(plan: Plan, write: Write) -> dict[str, str]:
    """The statements of public key values, for keys whose rows may lie outside of all groups."""
    told = plan.known_keys or {}
    statements = {key: domain.statement for domain in plan.domains for key in domain.keys}
    pairs = ((place, statements[place]) for place, values in told.items() if values is None)
    return {f"{KNOWN}{place}": write(one) for place, one in pairs if one is not None}


def _with(relations: Mapping[str, str], statement: str, dialect: Dialect, again: Sequence[str] = ()) -> str:
    """A statement over named relations; `again`: those that are computed wherever they are read."""
    one = DIALECTS[dialect]
    parts = (
        f"{one.contributions(quoted(name))} AS {one.again if name in again else ''}({text})"
        for name, text in relations.items()
    )
    return f"WITH {', '.join(parts)} {statement}"


def _summed(plan: Plan, weights: list[exp.Expr], counted: bool, merged: bool) -> exp.Select:
    """The join tuples; with `merged`, one row per distinct owners and keys.

    Contributions are counted over merged tuples only, whatever unique keys promise: a unit in two rows would count
    twice. For L1 norms (`scale_contributions`), merging is not needed.
    """
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    if counted:
        return count_tuples(plan.source, owners, keys, weights)
    totals = [total_sql(weight) for weight in weights] if merged else weights
    return compact(plan.source, owners, keys, totals=totals, merged=merged)


def _distinct(plan: Plan, release: Release, write: Write) -> str | None:
    """One row per owners, keys and value, or place on the grid.

    A second tuple of the same people with the same value adds nothing to a count of distinct values. A weight is
    whole or zero, so the maximum is kept (docs/mathematics.md, section 3.6). For ranks the tuples are added up.
    """
    if release.is_sum:
        return None
    owners, keys = [owner.key for owner in plan.owners], [key.key for key in plan.group_keys]
    ranked = release.ranked
    value = release.distinct if ranked is None else ranked.place
    total = exp.Max(this=release.weight) if ranked is None else total_sql(release.weight)
    return write(compact(plan.source, owners, keys, value=value, totals=[total]))


def to_sql(tree: exp.Expr) -> str:
    """The SQL of a tree for PostgreSQL, and for people."""
    return postgres_sql(tree)


def write_public(query: PublicQuery, *, dialect: Dialect = "postgres") -> PublicStatement:
    """Write a query over public tables. Raises: UnsupportedSQL for what the dialect cannot express."""
    tree = read_nan_as_null(query.statement, query.tables)
    text = DIALECTS[dialect].public(tree, query.tables)
    nan = tuple(dict.fromkeys(nan_columns([query.statement], query.tables)))
    return PublicStatement(text, query.columns, query.fingerprint, query.reads, nan)
