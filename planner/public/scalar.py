"""Expressions over public rows or groups of them, by the table of `planner.expressions.functions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from planner.binding.group_keys import determined
from planner.binding.scope import Source
from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import align, settle
from planner.expressions.datetimes import not_a_number
from planner.expressions.functions import TABLE
from planner.expressions.predicates import truth
from planner.expressions.scalar import Digits, Scalar, wrap
from planner.expressions.strings import as_text
from planner.public.aggregates import AGGREGATES, bind_aggregate
from planner.public.exact import HANDLERS, as_it_stands
from planner.public.tables import PublicScope
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import columns_of, copied, holds, position_of

_BOOL = SqlType(Family.BOOL)
_TEXT = SqlType(Family.TEXT)

Subquery = Callable[[exp.Expr, PublicScope], tuple[exp.Query, tuple[SqlType, ...]]]
"""Binds a subquery that stands in an expression: its statement, and the types of its columns."""


class PublicBinder:
    """Binds expressions over rows.

    Args:
      scope: what names mean.
      subquery: binds a subquery.
      among: the items of FROM that names may mean; None: all.
    """

    def __init__(self, scope: PublicScope, subquery: Subquery, among: Sequence[Source] | None = None) -> None:
        self._scope = scope
        self._subquery = subquery
        self._among = among

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self._scope.zone

    def where(self, condition: exp.Expr, *, holds: bool = True) -> PublicBinder:
        """What a condition proves narrows nothing here."""
        return self

    def scalar(self, node: exp.Expr) -> Scalar:
        """Bind an expression of any type.

        Raises: UnsupportedSQL, InvalidSyntax and what names raise, each with a position.
        """
        while isinstance(node, exp.Paren):
            node = node.this
        special = self._special(node)
        if special is not None:
            return special
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal) and not node.is_string:
            return as_it_stands(arithmetic.literal(node))
        if isinstance(node, exp.Null):
            return arithmetic.null(node)
        if isinstance(node, (exp.Literal, exp.Parameter)):
            return Scalar(node, None, copied(node), lambda: not_a_number(node, None))
        if isinstance(node, (exp.Subquery, exp.Exists)) or (isinstance(node, exp.In) and node.args.get("query")):
            return self._nested(node)
        bind = HANDLERS.get(type(node)) or (TABLE[type(node)].bind if type(node) in TABLE else None)
        if bind is None:
            name = type(node).__name__.upper()
            raise UnsupportedSQL(f"{name} is not supported here", position=position_of(node))
        return as_it_stands(bind(node, self))

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """Bind a condition. Raises: as `scalar`."""
        scalar = settle(self.scalar(node), _BOOL, self)
        if scalar.type != _BOOL:
            hint = "write a comparison"
            raise UnsupportedSQL("this is not a condition", hint=hint, position=position_of(node))
        return scalar.sql

    def value(self, node: exp.Expr) -> Scalar:
        """An expression as a column shows it: a quoted literal is a text."""
        return settle(self.scalar(node), _TEXT, self)

    def _special(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, (exp.Filter, *AGGREGATES)):
            message = "an aggregate in a condition over rows, or in another aggregate, is not supported"
            raise UnsupportedSQL(message, hint="write it in HAVING", position=position_of(node))
        return None

    def _column(self, node: exp.Column) -> Scalar:
        found = self._scope.resolve(node, self._among)
        assert isinstance(found, exp.Column), "every name means a column: subqueries are not flattened"
        kind = self._scope.type_of(found)
        sql = cast_sql(found, "TEXT") if kind.family is Family.ENUM else found
        return as_it_stands(Scalar(node, kind, sql, lambda: arithmetic.null(node).measured(), Digits.of(kind)))

    def _nested(self, node: exp.Expr) -> Scalar:
        """A subquery with one row and column as a value, EXISTS (...), x IN (...)."""
        if isinstance(node, exp.Exists):
            statement, _ = self._subquery(node.this, self._scope)
            return truth(node, exp.Exists(this=statement))
        written = node.args["query"] if isinstance(node, exp.In) else node
        statement, kinds = self._subquery(written, self._scope)
        if len(kinds) != 1:
            hint = "select one column"
            raise UnsupportedSQL("a subquery of several columns", hint=hint, position=position_of(written))
        column = as_it_stands(
            Scalar(written, kinds[0], exp.Subquery(this=statement), lambda: not_a_number(node, kinds[0]))
        )
        if not isinstance(node, exp.In):
            return column
        left, _ = align(node, [_no_char(self.scalar(node.this)), column], self)
        return truth(node, exp.In(this=wrap(left.sql), query=exp.Subquery(this=statement)))


class GroupBinder(PublicBinder):
    """Binds expressions over groups: keys, aggregates, and what is computed from them.

    Args:
      keys: of GROUP BY; a column that depends on a primary key among them is appended when it is named, since not
        every database knows that it has one value in each group.
    """

    def __init__(self, scope: PublicScope, subquery: Subquery, keys: list[Scalar]) -> None:
        super().__init__(scope, subquery)
        self._rows = PublicBinder(scope, subquery)
        self._keys = keys
        self._own = {entry.alias for source in scope.sources for entry in scope.tables[source.first : source.last]}

    def _special(self, node: exp.Expr) -> Scalar | None:
        aggregate = bind_aggregate(node, self._rows, self._scope.never_null)
        if aggregate is not None or not self._keys or not holds(node, exp.Column):
            return aggregate
        if holds(node, exp.AggFunc, exp.Query):
            return None
        row = self._rows.scalar(node)
        return next((key for key in self._keys if key.plain == row.plain and key.type == row.type), None)

    def _column(self, node: exp.Column) -> Scalar:
        found = super()._column(node)
        column = found.plain.this if isinstance(found.plain, exp.Cast) else found.plain
        assert isinstance(column, exp.Column), "a column, or the label of one"
        if column.table in self._own:
            if determined(column, self._scope, [key.plain for key in self._keys]):
                self._keys.append(found)
                return found
            hint = "group by it, or aggregate it"
            message = f"column {column.name!r} is not a group key"
            raise UnsupportedSQL(message, hint=hint, position=position_of(node))
        return found

    def _nested(self, node: exp.Expr) -> Scalar:
        """A subquery sees of this query's columns the keys only."""
        found = super()._nested(node)
        keys = [key.plain for key in self._keys]
        assert found.plain is not None, "a subquery has one form"
        for column in columns_of(found.plain):
            if column.table in self._own and column not in keys:
                hint = "group by it"
                message = f"column {column.name!r} is not a group key"
                raise UnsupportedSQL(message, hint=hint, position=position_of(node))
        return found


def _no_char(part: Scalar) -> Scalar:
    """Subqueries give texts for char(n)."""
    return as_text(part) if part.type is not None and part.type.family is Family.CHAR else part
