"""Tables of released values, which a later question reads beside private rows.

    SELECT count(*) FROM staff WHERE pay > (SELECT avg(pay) FROM staff)
      --> part   SELECT avg(pay) AS a1 FROM staff                                     released first
      and table  SELECT a1 FROM "noisegate answer 1"                                  one row
      and part   SELECT count(*) AS a1 FROM staff, "noisegate answer table 1" AS t WHERE pay > t.value AND t.one = 1

An aggregate for the rows of an outer key becomes a list of (key, value), joined by that key:

    ... WHERE pay > (SELECT avg(x.pay) FROM staff x WHERE x.ward = s.ward)
      --> part   SELECT x.ward AS k1, avg(x.pay) AS a1 FROM staff x GROUP BY 1
      and ... LEFT JOIN "noisegate answer table 1" AS t ON t.key1 = s.ward WHERE pay > t.value

Theorem and proof: docs/mathematics.md, section 8.6. The later question is planned, priced and charged without the
rows of these tables. Its bounds hold for any rows: a table has one row, or one per key, because the SQL that defines
it groups by the key (`write_outer.Relation`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.errors import UnsupportedSQL
from planner.expressions.predicates import conjuncts
from planner.plan import Plan
from planner.policy.policy import ColumnPolicy, Policy, TablePolicy
from planner.postprocessing.composed import ReleasedTable, is_relation
from planner.postprocessing.write_outer import Cell, Relation
from planner.released_expression import Apply, Given, Output, ReleasedValue, is_noisy
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import NUMBERS, ResultType, SqlType, enum_text
from planner.sql.trees import (
    aggregates,
    children,
    columns_of,
    conjunction,
    copied,
    fold,
    from_items,
    holds,
    named_sql,
    tables_of,
)

ONE, VALUE = "noisegate one", "noisegate value"
"""The column that is 1 in the row of a table with one row; the column of a value."""


def key_name(place: int) -> str:
    """Return the name of a key column, numbered from 1."""
    return f"noisegate key {place}"


Common = Callable[[exp.Table], exp.Expr | None]
"""Returns the query in WITH that a table means."""


def has_one_row(query: exp.Expr, n_keys: Mapping[str, int], common: Common) -> bool:
    """Whether a query over answers never has a second row: an aggregate without groups, LIMIT 1, a SELECT from such.

    `n_keys`: the number of group keys of each answer, by relation.
    """
    query = query.unnest()
    if isinstance(query, exp.Table):
        meant = common(query)
        return (
            n_keys[query.name] == 0 if is_relation(query) else has_one_row(meant, n_keys, common) if meant else False
        )
    if not isinstance(query, exp.Select):
        return False
    limit = query.args.get("limit")
    count = None if limit is None else limit.args.get("expression") or limit.args.get("count")
    if isinstance(count, exp.Literal) and count.name in ("0", "1"):
        return True
    if query.args.get("group") is not None:
        return False
    if query.args.get("having") is not None or any(True for item in query.expressions for _ in aggregates(item)):
        return True
    sources = from_items(query)
    plain = all(not join.side for join in query.args.get("joins") or []) and not any(
        isinstance(item, exp.Lateral) or item.args.get("joins") for item in sources
    )
    return plain and all(
        isinstance(one, (exp.Table, exp.Subquery)) and has_one_row(one, n_keys, common) for one in sources
    )


def unique_columns(query: exp.Expr, n_keys: Mapping[str, int], common: Common) -> tuple[str, ...] | None:
    """Return output columns that identify a row of a SELECT over answers; None if they are not known.

    `n_keys`: the number of group keys of each answer, by relation; they are its columns k1, k2, ...
    """
    if isinstance(query, exp.Table) and is_relation(query):
        return tuple(f"k{place}" for place in range(1, n_keys[query.name] + 1))
    if isinstance(query, exp.Table):
        meant = common(query)
        return None if meant is None else unique_columns(meant, n_keys, common)
    query = query.unnest()
    sources = from_items(query) if isinstance(query, exp.Select) else []
    if (
        len(sources) != 1
        or query.args.get("group") is not None
        or not isinstance(sources[0], (exp.Table, exp.Subquery))
    ):
        return None
    inside = unique_columns(sources[0], n_keys, common)
    shown = {fold(one.unalias().this): output_name(one) for one in query.expressions if _is_plain(one.unalias())}
    return None if inside is None or not shown.keys() >= set(inside) else tuple(shown[name] for name in inside)


def _is_plain(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)


@dataclass(frozen=True)
class Grouped:
    """An aggregate for the rows of an outer key, as a list of keys and values.

    Attributes:
      select: has the columns of the keys, then the value.
      outside: per key, the expression of the outer row that it equals.
      empty: is the value without a row 0, as a count's is? Else it is NULL.
    """

    select: exp.Select
    outside: tuple[exp.Expr, ...]
    empty: bool


def own_columns(tree: exp.Expr) -> list[exp.Column]:
    """The columns of a query's clauses, or of an expression, without those in queries inside."""
    found, waiting = [], list(children(tree)) if isinstance(tree, exp.Query) else [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Column):
            found.append(node)
        elif not isinstance(node, exp.Query):
            waiting += children(node)
    return found


def grouped_by_outside(select: exp.Select, is_outside: Callable[[exp.Column], bool]) -> Grouped | None:
    """Group an aggregate by what its conditions compare with the outer row; None if that is not what they do.

    Args:
      select: one aggregate expression without GROUP BY; it is not changed.
      is_outside: does a column belong to the query around it?
    """
    parts = ("group", "having", "limit", "offset", "fetch", "distinct", "with_", "order")
    (item,) = select.expressions if len(select.expressions) == 1 else (None,)
    if item is None or any(map(select.args.get, parts)) or not any(True for _ in aggregates(item)):
        return None
    where = select.args.get("where")
    kept: list[exp.Expr] = []
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    for condition in [] if where is None else conjuncts(where.this):
        if not any(map(is_outside, own_columns(condition))):
            kept.append(copied(condition))
            continue
        sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
        outer = [side for side in sides if own_columns(side) and all(map(is_outside, own_columns(side)))]
        inner = [side for side in sides if not any(map(is_outside, own_columns(side)))]
        if len(outer) != 1 or len(inner) != 1 or not own_columns(inner[0]):
            return None
        pairs.append((copied(inner[0]), copied(outer[0])))
    value = item.unalias().unnest()
    counts = [
        one for one in aggregates(value) if isinstance(one.this if isinstance(one, exp.Filter) else one, exp.Count)
    ]
    if not pairs or any(map(is_outside, own_columns(item))) or (counts and counts[0] is not value):
        return None
    made = copied(select)
    keys = [named_sql(key, key_name(place)) for place, (key, _) in enumerate(pairs, 1)]
    made.set("expressions", [*keys, named_sql(copied(value), VALUE)])
    rest = conjunction(kept)
    made.set("where", None if rest is None else exp.Where(this=rest))
    made.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in range(1, len(keys) + 1)]))
    if any(map(is_outside, own_columns(made))):
        return None  # in ON
    return Grouped(made, tuple(outer for _, outer in pairs), bool(counts))


_NAMES: Mapping[ResultType, str] = {
    "int8": "bigint", "float8": "double precision", "text": "text", "date": "date", "timestamp": "timestamp",
}  # fmt: skip

_WIDEST = (-1e15, 1e15)
"""The range of a released number without a narrower one; a value beyond it becomes its end."""


@dataclass(frozen=True)
class ReleasedRelation:
    """A table of released values as a database and the planner see it.

    Attributes:
      relation: without rows.
      ranges: of its numbers that are no keys, by column.
      enums: the types of its columns of labels, which are compared with columns of that type.
    """

    relation: Relation
    ranges: Mapping[str, tuple[float, float]]
    enums: Mapping[str, SqlType] = field(default_factory=dict, hash=False)

    @property
    def table(self) -> Table:
        """The table as the catalog would have it."""
        columns = tuple(
            Column(name, enum_text(enum), name != ONE, type_name=enum.enum)
            if (enum := self.enums.get(name)) is not None
            else Column(name, _NAMES[kind], name != ONE)
            for name, kind in self.relation.columns
        )
        return Table(self.relation.name, "", columns, (self.relation.keys,), ())

    @property
    def declared(self) -> TablePolicy:
        """The table in the policy: public, with the ranges that its values are clamped to."""
        ranges = {name: ColumnPolicy(range=one) for name, one in self.ranges.items()}
        return TablePolicy(public=True, columns=ranges, rows=1 if self.relation.keys == (ONE,) else None)

    def with_rows(self, rows: Sequence[Sequence[object]]) -> Relation:
        """Fill in rows; a table with one row takes the first, or NULL. NaN becomes NULL."""
        columns = [name for name, _ in self.relation.columns if name != ONE]
        if self.relation.keys == (ONE,):
            rows = [(1, *next(iter(rows), (None,) * len(columns)))]
            columns.insert(0, ONE)
        return replace(
            self.relation,
            rows=tuple(tuple(self._cell(*one) for one in zip(columns, row, strict=True)) for row in rows),
        )

    def _cell(self, column: str, cell: object) -> Cell:
        if column not in self.ranges or cell is None:
            return cell if isinstance(cell, bool | int | float | None) else str(cell)
        low, high = self.ranges[column]
        value = float(f"{float(str(cell)):.15g}")  # 44.85 and not 44.849999999999994, which would be less
        return None if math.isnan(value) else max(low, min(value, high))


def released_relation(
    table: ReleasedTable, answers: Mapping[str, Sequence[Output]], plans: Mapping[str, Plan]
) -> ReleasedRelation:
    """Return the relation of a table: its numbers that are not keys are doubles.

    Args:
      answers: the columns of each answer, by relation; of `plans`, where these are known.
    Raises: UnsupportedSQL for types that no question compares.
    """
    columns: list[tuple[str, ResultType]] = [] if table.keys else [(ONE, "int8")]
    ranges: dict[str, tuple[float, float]] = {}
    enums: dict[str, SqlType] = {}
    known = {
        name: {one.name: _of_output(one, plans.get(name)) for one in outputs} for name, outputs in answers.items()
    }
    for name, found in zip(table.columns, _kinds(table.query, known, {}), strict=True):
        noisy = found.range is not None or name not in table.keys
        kind: ResultType = "float8" if found.type in NUMBERS and noisy else found.type
        if kind not in _NAMES:
            hint = "compute with numbers, texts or dates; or ask for it alone first, and write its value as a literal"
            raise UnsupportedSQL(f"a released {kind} beside private rows is not supported", hint=hint, at=table.query)
        columns.append((name, kind))
        if found.enum is not None:
            enums[name] = found.enum
        if kind == "float8":
            ranges[name] = found.range or _WIDEST
    return ReleasedRelation(Relation(table.name, tuple(columns), keys=table.keys or (ONE,)), ranges, enums)


def beside_released(schema: Schema, policy: Policy, tables: Sequence[ReleasedRelation]) -> tuple[Schema, Policy]:
    """Return the schema and the policy, with the same fingerprint and hash, that have these tables too."""
    if not tables:
        return schema, policy
    declared = {one.relation.name: one.declared for one in tables}
    return schema.released([one.table for one in tables]), policy.beside(declared)


def tables_read(tree: exp.Expr, tables: Sequence[ReleasedTable]) -> list[ReleasedTable]:
    """Return the tables of released values that a question reads."""
    named = {table.name for table in tables_of(tree)}
    return [table for table in tables if table.name in named]


@dataclass(frozen=True)
class _Kind:
    """The type of a column; `range`: of a noisy number; `enum`: of labels."""

    type: ResultType
    range: tuple[float, float] | None = None
    enum: SqlType | None = None


_NUMBER = _Kind("numeric", _WIDEST)

_Named = Mapping[str, Mapping[str, _Kind]]


def _of_output(output: Output, plan: Plan | None) -> _Kind:
    if not is_noisy(output) or output.type not in NUMBERS:
        return _Kind(output.type, enum=output.enum)
    value, ends = output.expression, _WIDEST
    if isinstance(value, Apply) and value.operator == "within":
        _, *given = value.arguments
        low, high = (float(one.value) for one in given if isinstance(one, Given) and one.value is not None)
        ends = low, high
    elif isinstance(value, ReleasedValue) and plan is not None and (ranked := plan.releases[value.release].ranked):
        ends = ranked.grid.ends
    return _Kind("numeric", ends)


def _kinds(query: exp.Expr, answers: _Named, known: _Named) -> list[_Kind]:
    """Return the types of a query's columns. What is no column of an answer counts as a noisy number.

    A wrong guess is noticed before the charge, when the database describes the query.
    """
    query = query.unnest()
    clause = query.args.get("with_")
    for entry in [] if clause is None else clause.expressions:
        inner = _kinds(entry.this, answers, known)
        columns = [fold(one) for one in entry.args["alias"].args.get("columns") or []] or _outputs(entry.this)
        known = {**known, fold(entry.args["alias"].this): dict(zip(columns, inner, strict=False))}
    if isinstance(query, exp.SetOperation):
        return [replace(one, range=one.range and _WIDEST, enum=None) for one in _kinds(query.this, answers, known)]
    assert isinstance(query, exp.Select), "a query over answers"
    here: dict[str, _Kind] = {}
    for item in from_items(query):
        if isinstance(item, exp.Table):
            here |= answers.get(item.name) or known.get(fold(item.this), {})
        elif isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query):
            here |= dict(zip(_outputs(item.this), _kinds(item.this, answers, known), strict=False))
    if len(query.expressions) == 1 and query.expressions[0].is_star:
        return list(here.values())
    return [_kind(item.unalias(), here) for item in query.expressions]


def _outputs(query: exp.Expr) -> list[str]:
    query = query.unnest()
    while isinstance(query, exp.SetOperation):
        query = query.this
    return [output_name(item) for item in query.expressions] if isinstance(query, exp.Select) else []


def _kind(node: exp.Expr, columns: Mapping[str, _Kind]) -> _Kind:
    node = node.unnest()
    if _is_plain(node):
        return columns.get(fold(node.this), _NUMBER)
    if isinstance(node, (exp.Add, exp.Sub)):
        left = _kind(node.left, columns)
        if left.type in ("date", "timestamp") and holds(node.right, exp.Interval):
            return _Kind("timestamp")
        return left if left.type == "date" and isinstance(node.right.unnest(), exp.Literal) else _NUMBER
    if isinstance(node, exp.Mul):
        for side, other in ((node.left.unnest(), node.right), (node.right.unnest(), node.left)):
            ends = _kind(other, columns).range
            if isinstance(side, exp.Literal) and not side.is_string and ends is not None:
                low, high = (float(side.name) * end for end in ends)
                return _Kind("numeric", (max(low, _WIDEST[0]), min(high, _WIDEST[1])))
    if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)):
        return _Kind("timestamp")
    if isinstance(node, (exp.Max, exp.Min, exp.Coalesce)):
        found = _kind(node.this, columns)
        return replace(found, range=_WIDEST if found.type in NUMBERS else None)
    if isinstance(node, exp.Cast) and node.to.this.name in ("DATE", "TIMESTAMP"):
        return _Kind("date" if node.to.this.name == "DATE" else "timestamp")
    return _NUMBER


_MOST_TOLD = 300


def measured(question: exp.Select, values: Mapping[str, str]) -> str:
    """Return what a part measures, as SQL for people: its aggregates, rows and keys.

    Args:
      values: what to write for the value of each table with one row, by the table's name.
    """
    select = question.copy()
    named = {
        item.alias: item.name for item in from_items(select) if isinstance(item, exp.Table) and is_relation(item)
    }
    select.set("with_", None)
    select.set("expressions", [item.unalias() for item in select.expressions])
    places = [] if select.args.get("group") is None else select.args["group"].expressions
    keys = [select.expressions[int(one.name) - 1] if isinstance(one, exp.Literal) else one for one in places]
    if keys:
        select.set("group", exp.Group(expressions=list(map(copied, keys))))
        select.set("expressions", select.expressions[len(keys) :] or select.expressions)
    for join in list(select.args.get("joins") or []):
        if join.this.alias in named and VALUE in {one.name for one in columns_of(select)}:
            join.pop()
    where = select.args.get("where")
    kept = [] if where is None else [one for one in conjuncts(where.this) if not _is_made(one)]
    select.set("where", exp.Where(this=conjunction(kept)) if kept else None)
    for table in tables_of(select):
        if is_relation(table):
            table.replace(exp.Table(this=exp.to_identifier(table.alias)))
    for column in columns_of(select):
        if column.name == VALUE:
            name = named.get(column.table, column.table)
            column.replace(exp.Var(this=values.get(name, f"[{name}]")))
    text = select.sql("postgres")
    return text if len(text) <= _MOST_TOLD else f"{text[:_MOST_TOLD]}..."


def _is_made(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.EQ) and isinstance(condition.this, exp.Column) and condition.this.name == ONE
