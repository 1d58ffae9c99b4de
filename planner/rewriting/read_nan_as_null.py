"""Rule: read NaN as NULL in every column that may contain it, and write the note about it.

It is the last rule, over the whole statement, so that no other rule must handle NaN. Proofs treat such a column as
one that may be NULL (`planner.schema.Column`), so they hold for the rows as read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.policy.policy import Policy
from planner.schema import Column, Schema, Table
from planner.sql.trees import (
    DECLARED,
    LEAVES,
    ROWS,
    ColumnRef,
    bound_column,
    column_ref,
    columns_of,
    copied,
    each_select,
    holds,
    rebuilt,
    tables_by_alias,
)

_NOTHING: frozenset[ColumnRef] = frozenset()
_FALSE_ON_THE_LEFT = (exp.EQ, exp.LT, exp.LTE)
_FALSE_ON_THE_RIGHT = (exp.EQ, exp.GT, exp.GTE)
_TRUE_ON_THE_LEFT = (exp.GT, exp.GTE)


def read_nan_as_null(tree: exp.Expr, tables: Mapping[str, Table], schema: Schema | None = None) -> exp.Expr:
    """The statement with NULL in place of NaN; the tree is not changed. Linear.

    Where only true counts, as in WHERE, a comparison that NaN does not pass stays as it is, so that an index can
    serve it.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Column
    >>> rows = {"v": Table("v", "public", (Column("f", "double precision", True, nan=True),), (), ())}
    >>> sql = "SELECT AVG(v.f) FROM v WHERE v.f < 5 AND v.f > 1 AND NOT v.f = 3"
    >>> print(read_nan_as_null(parse_one(sql), rows).sql("postgres"))
    SELECT AVG(NULLIF(v.f, 'NaN')) FROM v WHERE v.f < 5 AND (v.f > 1 AND "v"."f" <> 'NaN') \
AND NOT NULLIF(v.f, 'NaN') = 3
    """
    if not any(column.nan for table in _all_tables(tree, tables, schema) for column in table.columns):
        return tree
    return _Reader(tables, schema).value(tree, _NOTHING)


def _all_tables(tree: exp.Expr, tables: Mapping[str, Table], schema: Schema | None) -> Iterator[Table]:
    yield from tables.values()
    for node in tree.find_all(exp.Subquery):
        if ROWS in node.meta and schema is not None:
            yield from (table for _, table in tables_by_alias(node.this, schema))


@dataclass(frozen=True)
class _Reader:
    """Rewrites one statement. `exactly`: must equal expressions be written alike, for GROUP BY of expressions?"""

    tables: Mapping[str, Table]
    schema: Schema | None
    exactly: bool = False

    def value(self, node: exp.Expr, known: frozenset[ColumnRef]) -> exp.Expr:
        """Rewrite where every value counts. `known`: the columns that are not NaN here."""
        if isinstance(node, exp.Column):
            nan = self._may_be_nan(node, known)
            return exp.Nullif(this=node, expression=exp.Literal.string("NaN")) if nan else node
        if type(node) in LEAVES or (isinstance(node, exp.Subquery) and DECLARED in node.meta):
            return node
        if isinstance(node, exp.Subquery) and ROWS in node.meta:
            return self._rows(node)
        if isinstance(node, exp.Connector):
            return self._chain(node, known, truth=False)
        if isinstance(node, (exp.Where, exp.If)):
            return self._branch(node, known)
        exactly = self.exactly or (isinstance(node, exp.Select) and _groups_by_expressions(node))
        return (self if exactly == self.exactly else replace(self, exactly=exactly))._copy(node, known)

    def truth(self, node: exp.Expr, known: frozenset[ColumnRef]) -> exp.Expr:
        """Rewrite where false and NULL mean the same."""
        if self.exactly:
            return self.value(node, known)
        if isinstance(node, exp.Paren):
            return exp.Paren(this=self.truth(node.this, known))
        if isinstance(node, exp.Connector):
            return self._chain(node, known, truth=True)
        column = self._denied(node)
        if column is not None:
            return copied(node)
        column = self._passed(node)
        if column is None:
            return self.value(node, known)
        if column_ref(column) in known:
            return copied(node)
        number = exp.NEQ(this=bound_column(*column_ref(column)), expression=exp.Literal.string("NaN"))
        return exp.Paren(this=exp.And(this=copied(node), expression=number))

    def _may_be_nan(self, column: exp.Column, known: frozenset[ColumnRef]) -> bool:
        alias, *others = [column.table] if column.table else self.tables
        assert not others, "a column without its table stands in a query over one table"
        found = self.tables[alias].column(column.name) if alias in self.tables else None
        return found is not None and found.nan and column_ref(column) not in known

    def _rows(self, node: exp.Subquery) -> exp.Expr:
        assert self.schema is not None, "questions know their catalog"
        schema = self.schema

        def inside(select: exp.Expr) -> exp.Expr:
            return _Reader(dict(tables_by_alias(select, schema)), schema).value(select, _NOTHING)

        rows = exp.Subquery(this=each_select(node.this, inside), alias=node.args["alias"])
        rows.meta.update(node.meta)
        return rows

    def _branch(self, node: exp.Expr, known: frozenset[ColumnRef]) -> exp.Expr:
        """WHERE, WHEN and FILTER; what a condition proves holds for the value after WHEN."""
        made = type(node)(this=self.truth(node.this, known))
        if isinstance(node, exp.If):
            made.set("true", self.value(node.args["true"], known | self._proved(node.this)))
        return made

    def _chain(self, node: exp.Expr, known: frozenset[ColumnRef], *, truth: bool) -> exp.Expr:
        """Rewrite `a AND b AND ...` without recursion, since its tree is as deep as it is long."""
        read = self.truth if truth else self.value
        links: list[exp.Expr] = []
        while isinstance(node, exp.Connector):
            links.append(node)
            node = node.this
        made = read(node, known)
        for link in reversed(links):
            made = type(link)(this=made, expression=read(link.args["expression"], known))
        return made

    def _copy(self, node: exp.Expr, known: frozenset[ColumnRef]) -> exp.Expr:
        on = node.args.get("on") if isinstance(node, exp.Join) else None
        return rebuilt(node, lambda part: (self.truth if part is on else self.value)(part, known))

    def _proved(self, condition: exp.Expr) -> frozenset[ColumnRef]:
        """The columns that are not NaN where a condition is true."""
        if self.exactly:
            return _NOTHING
        if isinstance(condition, exp.Paren):
            return self._proved(condition.this)
        if isinstance(condition, exp.And):
            parts = list(condition.flatten())
            return _NOTHING.union(*map(self._proved, parts))
        column = self._denied(condition) or self._passed(condition)
        return _NOTHING if column is None else frozenset({column_ref(column)})

    def _denied(self, node: exp.Expr) -> exp.Column | None:
        """The one column of a comparison that no NaN passes, as NaN is the greatest number; else None."""
        if isinstance(node, exp.NEQ):
            right = node.expression
            alone = isinstance(right, exp.Literal) and right.is_string and right.name == "NaN"
            return self._alone(node.this) if alone else None
        if isinstance(node, exp.Between):
            return self._compared(node, node.this)
        if isinstance(node, exp.In):
            return self._compared(node, node.this) if node.args.get("query") is None else None
        left = self._compared(node, node.this) if isinstance(node, _FALSE_ON_THE_LEFT) else None
        right = self._compared(node, node.args["expression"]) if isinstance(node, _FALSE_ON_THE_RIGHT) else None
        return left or right

    def _passed(self, node: exp.Expr) -> exp.Column | None:
        """The one column of a comparison that every NaN passes; else None."""
        left = self._compared(node, node.this) if isinstance(node, _TRUE_ON_THE_LEFT) else None
        right = self._compared(node, node.args["expression"]) if isinstance(node, (exp.LT, exp.LTE)) else None
        return left or right

    def _compared(self, node: exp.Expr, side: exp.Expr) -> exp.Column | None:
        """A side that is the comparison's only column that may be NaN; else None."""
        column = self._alone(side)
        if column is None:  # most sides, and the walk below would read the whole comparison
            return None
        alone = len([one for one in columns_of(node) if self._may_be_nan(one, _NOTHING)]) == 1
        return column if alone and not holds(node, exp.Query) else None

    def _alone(self, side: exp.Expr) -> exp.Column | None:
        """A column that may be NaN, possibly cast to double; else None."""
        side = side.unnest()
        while isinstance(side, exp.Cast) and side.to.this is exp.DType.DOUBLE:
            side = side.this.unnest()
        return side if isinstance(side, exp.Column) and self._may_be_nan(side, _NOTHING) else None


def _groups_by_expressions(select: exp.Select) -> bool:
    """Does it group by expressions, which the select list must repeat word for word?"""
    group = select.args.get("group")
    return group is not None and not all(isinstance(key, exp.Literal) for key in group.expressions)


def nan_notes(query: BoundQuery) -> Iterator[str]:
    """The note about NaN, if a question reads a column that may contain it."""
    names = [f"{table.name}.{column.name}" for table, column in dict.fromkeys(_read(query)) if column.nan]
    if names:
        yield nan_note(names)


def nan_note(names: Iterable[str]) -> str:
    """The note about NaN in these columns."""
    return f"NaN in {' or '.join(names)} counts as missing, like NULL."


def nan_columns(trees: Iterable[exp.Expr], tables: Mapping[str, Table]) -> Iterator[str]:
    """The names of columns in these expressions that may contain NaN."""
    return (f"{table.name}.{column.name}" for table, column in _columns(trees, tables) if column.nan)


def text_notes(query: BoundQuery, policy: Policy) -> Iterator[str]:
    """A note for each form in which a question reads texts as dates."""
    forms: dict[str, list[str]] = {}
    for table, column in dict.fromkeys(_read(query)):
        read = policy.column(table.name, column.name).forms
        if read:
            forms.setdefault(" or ".join(read), []).append(f"{table.name}.{column.name}")
    for form, names in forms.items():
        yield f"Texts in {' and '.join(names)} are read as {form}; other texts count as NULL."


def _columns(trees: Iterable[exp.Expr], tables: Mapping[str, Table]) -> Iterator[tuple[Table, Column]]:
    for tree in trees:
        for alias, name in map(column_ref, columns_of(tree)):
            column = tables[alias].column(name) if alias in tables else None
            if column is not None:
                yield tables[alias], column


def _read(query: BoundQuery, values: Iterable[exp.Expr] = ()) -> Iterator[tuple[Table, Column]]:
    """The columns that a question reads, each with its table; `values`: what a per-person subquery computes."""
    entries = query.all_tables
    trees = [
        *values,
        *query.predicates,
        *(condition for entry in entries for condition in entry.outer or ()),
        *(condition for one in query.semi_joins for condition in one.predicates),
        *(key.value for key in query.keys),
    ]
    for aggregate in query.aggregates:
        trees += [part for part in (aggregate.argument, aggregate.condition) if part is not None]
    yield from _columns(trees, {entry.alias: entry.table for entry in entries})
    for entry in entries:
        for part in entry.person.selects if entry.person is not None else ():
            yield from _read(part.query, [one.value for one in part.columns])
