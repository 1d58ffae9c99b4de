"""Finds which views can be queried, and why others cannot, and checks the views that the policy declares public."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.flattened import Flattened
from planner.binding.from_clause import bind_from, may_be_per_person
from planner.binding.outer_select import inner_answer
from planner.binding.placeholders import SOME_DAY, replace_clock
from planner.binding.scope import Tables
from planner.errors import PlannerError, PolicyInvalid, UnknownColumn, UnknownTable
from planner.expand_views import expanded, is_known
from planner.parsing.parse import Statement, private_select, read
from planner.planning.make_plan import make_plan
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.policy.toml_section import section_of
from planner.postprocessing.allowed_sql import check_composed
from planner.postprocessing.decompose import decompose
from planner.public.bind import bind_public
from planner.public.route import names_private_table
from planner.released_expression import KeyValue
from planner.schema import Column, Schema, View


@dataclass(frozen=True)
class ShownColumn:
    """A column of a view; `base` is the table and column that it shows unchanged, None for an expression."""

    column: Column
    base: tuple[str, str] | None


@dataclass(frozen=True)
class ShownView:
    """A view that can be queried.

    Attributes:
      public: it reads public tables only.
      answers: it is a question of its own. Its rows are an answer, which can be shown, but not joined or summed.
    """

    name: str
    public: bool
    columns: tuple[ShownColumn, ...]
    answers: bool = False


@dataclass(frozen=True)
class RefusedView:
    """A view that cannot be queried, with the reason and a hint for the administrator.

    `reads_unnamed`: it reads tables that the policy does not name, so analysts do not learn that it exists.
    """

    name: str
    reason: str
    hint: str | None
    reads_unnamed: bool = False


def examined_views(schema: Schema, policy: Policy) -> tuple[ShownView | RefusedView, ...]:
    """Examine every view that the policy does not declare as a table. Cost: a plan for each, some milliseconds."""
    return tuple(
        _examined(view, schema, policy) for name, view in sorted(schema.views.items()) if name not in schema.tables
    )


def shown_views(schema: Schema, policy: Policy) -> tuple[ShownView, ...]:
    """List the views that can be queried, by name."""
    return tuple(view for view in examined_views(schema, policy) if isinstance(view, ShownView))


def _examined(view: View, schema: Schema, policy: Policy) -> ShownView | RefusedView:
    name = view.table.name
    if not is_known(name, schema, policy):
        return RefusedView(name, *_unknown(view, schema, policy), reads_unnamed=True)
    try:
        return _shown(view, schema, policy)
    except PlannerError as error:
        return RefusedView(name, _reason(error), error.hint)


def _reason(error: PlannerError) -> str:
    """Return the reason, with the column that the proxy's role may not read, which analysts are not shown."""
    cause = error
    while isinstance(cause.__cause__, PlannerError):
        cause = cause.__cause__
    hidden = cause is not error and isinstance(cause, (UnknownColumn, UnknownTable))
    return f"{error.message}: {cause.message}; check that the proxy's role may SELECT it" if hidden else error.message


def _unknown(view: View, schema: Schema, policy: Policy) -> tuple[str, str | None]:
    section = section_of(view.table.name, policy.schemas)
    declared = f"if it holds no personal data, declare {section} with public = true"
    unnamed = [name for name in view.reads if not is_known(name, schema, policy)]
    if view.kind in ("view", "materialized view") and unnamed:
        reason = f"it reads {', '.join(unnamed)}, which the policy does not name or the proxy's role may not read"
        return reason, f"name those tables in the policy; or, {declared}"
    return f"a {view.kind} stores rows of its own, whose owners are unknown", declared


def _shown(view: View, schema: Schema, policy: Policy) -> ShownView:
    whole = _reading(view, "*", schema, policy)
    if names_private_table(whole.tree, schema, policy):
        try:
            return _shown_private(view, private_select(whole), schema, policy)
        except PlannerError:
            if not _is_composed(whole, schema, policy):
                raise
            columns = tuple(ShownColumn(column, None) for column in view.table.columns)
            return ShownView(view.table.name, False, columns, answers=True)
    bind_public(whole.tree, schema, policy, SOME_DAY)
    return ShownView(view.table.name, True, tuple(ShownColumn(column, None) for column in view.table.columns))


def _shown_private(view: View, select: exp.Select, schema: Schema, policy: Policy) -> ShownView:
    """Examine a view over private tables that is one question, or rows for one."""
    inner = inner_answer(select)
    if inner is not None and not may_be_per_person(inner, schema, policy):
        return ShownView(view.table.name, False, _answer_columns(view, select, schema, policy), answers=True)
    return ShownView(view.table.name, False, _private_columns(view, select, schema, policy))


def _is_composed(whole: Statement, schema: Schema, policy: Policy) -> bool:
    """Is it computed from several answers, each of which has a plan?"""
    split = decompose(replace_clock(whole.tree, SOME_DAY, policy.time_grain), schema, policy)
    if split is None:
        return False
    check_composed(split, whole.tokens, "postgres")
    for part in split.parts:
        answer = bind(part.select, schema, policy, SOME_DAY)
        make_plan(answer, schema, policy)
    return True


def _reading(view: View, what: str, schema: Schema, policy: Policy) -> Statement:
    relation = exp.table_(view.table.relation, db=view.table.namespace, quoted=True).sql("postgres")
    return expanded(read(f"SELECT {what} FROM {relation}"), schema, policy)


def _answer_columns(view: View, select: exp.Select, schema: Schema, policy: Policy) -> tuple[ShownColumn, ...]:
    """List the columns of an answer that has a plan; a group key that is a column has that column as base."""
    answer = bind(select, schema, policy, SOME_DAY)
    make_plan(answer, schema, policy)
    meant = {output.name: output.expression for output in answer.display.outputs}
    found = []
    for column in view.table.columns:
        shown = meant.get(column.name)
        key = answer.keys[shown.key].value if isinstance(shown, KeyValue) else None
        base = (answer.table_of(key).table.name, key.name) if isinstance(key, exp.Column) else None
        found.append(ShownColumn(column, base))
    return tuple(found)


def _private_columns(view: View, select: exp.Select, schema: Schema, policy: Policy) -> tuple[ShownColumn, ...]:
    """List the columns of a view, once a count of its rows has a plan."""
    counted = private_select(_reading(view, "count(*)", schema, policy))
    counted_rows = bind(counted, schema, policy, SOME_DAY)
    make_plan(counted_rows, schema, policy)
    flat = Flattened(Tables(schema, policy))
    scope = bind_from(replace_clock(select, SOME_DAY, policy.time_grain), flat, {})
    names = {entry.alias: entry.table.name for entry in flat.tables.entries}
    meant = dict(scope.star(exp.Star()))
    found = []
    for column in view.table.columns:
        meaning = meant.get(column.name)
        if isinstance(meaning, exp.Column):
            meaning = (meaning.table, meaning.name)
        known = isinstance(meaning, tuple) and names[meaning[0]] in schema.tables  # not of a per-person table
        base = (names[meaning[0]], meaning[1]) if known and isinstance(meaning, tuple) else None
        found.append(ShownColumn(column, base))
    return tuple(found)


def check_declared_views(policy: Policy, schema: Schema) -> None:
    """Refuse a policy that declares a view public which shows rows of private tables. Raises: PolicyInvalid."""
    schema = with_declared_keys(schema, policy)  # a table without its keys may seem to have no owner
    problems = []
    for name in sorted(policy.tables.keys() & schema.views.keys() & schema.tables.keys()):
        others = replace(schema, tables={other: table for other, table in schema.tables.items() if other != name})
        shown = next(view for view in examined_views(others, policy) if view.name == name)
        if isinstance(shown, ShownView) and not (shown.public or shown.answers):
            advice = "leave the section out: it can be queried like its tables"
            problems.append(f"- tables.{name}: cannot be public, because it shows rows of private tables; {advice}")
    if problems:
        raise PolicyInvalid("\n".join(["the policy does not fit the database:", *problems]))
