"""A SELECT around an answer, `SELECT ... FROM (SELECT ... GROUP BY ...) AS t`: it reads released rows only.

Tools for charts and notebooks write it around a question to rename, sort, filter or cut its rows. All of that is
post-processing, so the inner question is the one that is asked: written with or without, it is the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from planner.bound_query import BoundOutput, BoundQuery
from planner.errors import StatementTooComplex, UnknownColumn, UnsupportedSQL
from planner.limits import MAX_OUTPUTS
from planner.positions import position_of
from planner.released import Apply
from planner.released_binding import Released, ReleasedArithmetic
from planner.released_clauses import ReleasedClauses
from planner.row_count import row_count
from planner.scope import fold
from planner.suggestions import did_you_mean
from planner.trees import holds

_MORE = ("joins", "group", "having", "distinct")
_OWN = ("where", "order")


def inner_answer(select: exp.Select) -> exp.Select | None:
    """The question inside, where a SELECT does nothing but choose, rename, filter, sort and cut its rows.

    >>> from sqlglot import parse_one
    >>> inner_answer(parse_one("SELECT n AS customers FROM (SELECT count(*) AS n FROM customer) AS t LIMIT 10")).sql()
    'SELECT COUNT(*) AS n FROM customer'
    """
    source = _only_source(select)
    if source is None or any(holds(part, exp.AggFunc) for part in _own_parts(select)):
        return None
    body = source[1]
    while isinstance(body, (exp.Subquery, exp.Paren)) and not (body.args.get("alias") or body.args.get("joins")):
        body = body.this
    if not isinstance(body, exp.Select):
        return None
    parts = [*_own_parts(body), body.args.get("having")]
    grouped = body.args.get("group") or any(part is not None and holds(part, exp.AggFunc) for part in parts)
    return body if grouped or inner_answer(body) is not None else None


def _only_source(select: exp.Select) -> tuple[str | None, exp.Expr] | None:
    """The name and the body of the one subquery, or of the one CTE, that a SELECT reads."""
    clause, entries = select.args.get("from_"), select.args.get("with_")
    if clause is None or any(select.args.get(part) for part in _MORE):
        return None
    item = clause.this
    alias = item.args.get("alias")
    if item.args.get("joins") or (alias is not None and alias.args.get("columns")):
        return None
    name = fold(alias.this) if alias is not None and alias.this is not None else None
    if isinstance(item, exp.Subquery) and entries is None:
        return name, item.this
    if not (isinstance(item, exp.Table) and entries is not None and len(entries.expressions) == 1):
        return None
    entry = entries.expressions[0]
    plain = isinstance(item.this, exp.Identifier) and not (item.args.get("db") or item.args.get("sample"))
    if not plain or entry.args["alias"].args.get("columns") or fold(entry.args["alias"].this) != fold(item.this):
        return None
    return name or fold(item.this), entry.this


def _own_parts(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    yield from (clause for part in _OWN if (clause := select.args.get(part)) is not None)


class OuterSelect(ReleasedClauses):
    """The clauses of such a SELECT.

    Args:
      select: the statement, of which `inner_answer` is not None.
      inner: that question, bound.
    """

    def __init__(self, select: exp.Select, inner: BoundQuery) -> None:
        super().__init__(select)
        source = _only_source(select)
        assert source is not None, "inner_answer found one"
        self._inner = inner
        self._binder = _AnswerColumns(source[0], inner.outputs)

    def query(self) -> BoundQuery:
        """The inner question with the rows and columns that are left of its answer.

        Raises: UnknownColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
        """
        outputs = [output for item in self._select.expressions for output in self._outputs(item)]
        if len(outputs) > MAX_OUTPUTS:
            raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns")
        where, order = self.condition("where", "WHERE"), self.order(outputs)
        if (self._inner.limit is not None or self._inner.offset) and (where is not None or order):
            hint = "filter and sort inside, where LIMIT stands"
            clause = self._select.args["where" if where is not None else "order"]
            message = "filtering or sorting what LIMIT has cut is not supported"
            raise UnsupportedSQL(message, hint=hint, position=position_of(clause))
        conditions = tuple(part for part in (self._inner.having, where) if part is not None)
        limit, offset = self._cut()
        return replace(
            self._inner,
            outputs=tuple(outputs),
            having=Apply("and", conditions) if len(conditions) > 1 else next(iter(conditions), None),
            order=order or self._inner.order,
            limit=limit,
            offset=offset,
        )

    def _bind(self, node: exp.Expr) -> Released:
        return self._binder.bind(node)

    def _outputs(self, item: exp.Expr) -> list[BoundOutput]:
        if isinstance(item, exp.Star):
            return list(self._inner.outputs)
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            self._binder.check_table(item)
            return list(self._inner.outputs)
        return [self.output(item)]

    def _cut(self) -> tuple[int | None, int]:
        """The rows that are left of those that are left."""
        limit, offset = row_count(self._select, "limit"), row_count(self._select, "offset") or 0
        if self._inner.limit is not None:
            left = max(0, self._inner.limit - offset)
            limit = left if limit is None else min(limit, left)
        return limit, self._inner.offset + offset


class _AnswerColumns(ReleasedArithmetic):
    """Names that mean the columns of an answer."""

    def __init__(self, name: str | None, outputs: tuple[BoundOutput, ...]) -> None:
        self._name = name
        self._outputs = outputs

    def bind(self, node: exp.Expr) -> Released:
        """Bind an expression. Raises: UnknownColumn, UnsupportedSQL."""
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        return self._operation(node)

    def check_table(self, column: exp.Column) -> None:
        """What stands before a dot must be the subquery's name. Raises: UnknownColumn."""
        table = column.args.get("table")
        if table is not None and (column.args.get("db") is not None or fold(table) != self._name):
            message = f"there is no table {table.name!r} around this subquery"
            raise UnknownColumn(message, hint="name the subquery's alias", position=position_of(column))

    def _column(self, column: exp.Column) -> Released:
        self.check_table(column)
        name = fold(column.this)
        found = [output for output in self._outputs if output.name == name]
        if not found:
            hint = did_you_mean(name, (output.name for output in self._outputs))
            raise UnknownColumn(f"the subquery has no column {name!r}", hint=hint, position=position_of(column))
        if len({output.expression for output in found}) > 1:
            message = f"the subquery has several columns {name!r}"
            raise UnsupportedSQL(message, hint="give each an alias of its own", position=position_of(column))
        return Released(found[0].expression, found[0].type)
