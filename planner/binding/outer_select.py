"""Binds a SELECT around an answer, `SELECT ... FROM (SELECT ... GROUP BY ...) AS t`, which reads released rows only.

Charting tools and notebooks write it to rename, sort, filter or limit rows, or to group them by all keys once more.
That is post-processing, so only the inner question is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.binding.group_keys import distinct_as_groups, meant_key
from planner.binding.limit_offset import row_count
from planner.binding.output_names import construct_name, output_name
from planner.binding.released_select import Released, ReleasedArithmetic, ReleasedClauses
from planner.errors import StatementTooComplex, UnknownColumn, UnsupportedSQL, did_you_mean
from planner.limits import MAX_OUTPUTS
from planner.released_expression import (
    Apply,
    Display,
    Given,
    KeyValue,
    Output,
    ReleasedExpression,
    RowCount,
    equals_noisy,
    is_never_true,
)
from planner.sql.sql_types import ResultType
from planner.sql.trees import computes, fold, holds, position_of, select_within

_SUMS = (exp.Sum, exp.Avg)


def equals_noisy_refused(node: exp.Expr) -> UnsupportedSQL:
    """The refusal of groups that are counted because their noisy number equals a literal."""
    message = (
        "counting groups whose noisy number equals another is not supported: noise decides which groups these are"
    )
    return UnsupportedSQL(message, hint="compare by >=, <= or BETWEEN", at=node)


class AnswerColumns(ReleasedArithmetic):
    """Binds expressions over the columns of an answer, under the subquery's alias.

    `groups`: the expressions of GROUP BY, which include all keys of the answer; None without groups.
    """

    def __init__(
        self,
        name: str | None,
        outputs: tuple[Output, ...],
        groups: frozenset[ReleasedExpression] | None = None,
    ) -> None:
        self._name = name
        self._outputs = outputs
        self._groups = groups

    def bind(self, node: exp.Expr) -> Released:
        """Bind an expression. Raises: UnknownColumn, UnsupportedSQL."""
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        if self._groups is not None:
            found = self._of_group(node, self._groups)
            if found is not None:
                return found
        return self._column(node) if isinstance(node, exp.Column) else self._operation(node)

    def check_table(self, column: exp.Column) -> None:
        """Check that the name before a dot is the subquery's. Raises: UnknownColumn."""
        table = column.args.get("table")
        if table is not None and (column.args.get("db") is not None or fold(table) != self._name):
            message = f"there is no table {table.name!r} around this subquery"
            raise UnknownColumn(message, hint="name the subquery's alias", at=column)

    def _of_group(self, node: exp.Expr, groups: frozenset[ReleasedExpression]) -> Released | None:
        """Bind an aggregate over the one row of a group, or an expression of GROUP BY; None for combinations."""
        row = AnswerColumns(self._name, self._outputs)
        if isinstance(node, exp.AggFunc):
            return _over_one_row(node, row)
        if holds(node, exp.AggFunc):
            return None
        found = row.bind(node)
        if found.expression in groups:
            return found
        if isinstance(node, exp.Column):
            hint = "add it to GROUP BY, or aggregate it"
            message = f"column {node.name!r} is neither in GROUP BY nor inside an aggregate"
            raise UnsupportedSQL(message, hint=hint, at=node)
        return None

    def _column(self, column: exp.Column) -> Released:
        self.check_table(column)
        name = fold(column.this)
        found = [output for output in self._outputs if output.name == name]
        if not found:
            hint = did_you_mean(name, (output.name for output in self._outputs))
            raise UnknownColumn(f"the subquery has no column {name!r}", hint=hint, at=column)
        if len({output.expression for output in found}) > 1:
            message = f"the subquery has several columns {name!r}"
            raise UnsupportedSQL(message, hint="give each an alias of its own", at=column)
        return Released(found[0].expression, found[0].type, found[0].enum)


def _over_one_row(call: exp.AggFunc, row: AnswerColumns) -> Released:
    """Bind COUNT, SUM or AVG over one row."""
    argument = call.this
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        (argument,) = argument.expressions
    if isinstance(call, exp.Count) and isinstance(argument, exp.Star):
        return Released(Given(1), "int8")
    if not isinstance(call, (exp.Count, *_SUMS)) or not isinstance(argument, exp.Expr):
        message = f"{construct_name(call)} of a column that is aggregated already is not supported"
        raise UnsupportedSQL(message, hint="aggregate only once, in the inner SELECT", at=call)
    value = row.bind(argument)
    if isinstance(call, exp.Count):
        return Released(Apply("case", (Apply("is null", (value.expression,)), Given(0), Given(1))), "int8")
    if not value.is_number:
        raise UnsupportedSQL("SUM and AVG need numbers, and this column has none", at=call)
    kind: ResultType | None = "float8" if isinstance(call, exp.Avg) else value.type
    return Released(value.expression, kind)


_CLAUSES = ("where", "order")


def inner_answer(select: exp.Select) -> exp.Select | None:
    """Return the question inside, if a SELECT reads nothing else; `OuterSelect` binds the clauses around it.

    >>> from sqlglot import parse_one
    >>> inner_answer(parse_one("SELECT n AS customers FROM (SELECT count(*) AS n FROM customer) AS t LIMIT 10")).sql()
    'SELECT COUNT(*) AS n FROM customer'
    """
    source = _only_source(select)
    return None if source is None else answer_within(source[1])


def answer_within(body: exp.Expr) -> exp.Select | None:
    """Return the SELECT of a subquery whose rows are an answer, not join tuples."""
    select = select_within(body, named=False)
    return select if select is not None and (groups_itself(select) or inner_answer(select) is not None) else None


def _only_source(select: exp.Select) -> tuple[str | None, exp.Expr] | None:
    """Return the name and body of the one subquery or CTE that a SELECT reads."""
    clause, entries = select.args.get("from_"), select.args.get("with_")
    if clause is None or select.args.get("joins"):
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


def groups_itself(select: exp.Select) -> bool:
    """Whether a SELECT has GROUP BY, HAVING, DISTINCT or an aggregate."""
    if any(select.args.get(part) for part in ("group", "having", "distinct")):
        return True
    clauses = [clause for part in _CLAUSES if (clause := select.args.get(part)) is not None]
    return any(map(computes, [*select.expressions, *clauses]))


def counts_all(node: exp.Expr) -> bool:
    """Whether an expression is COUNT(*) or COUNT(1)."""
    return isinstance(node, exp.Count) and isinstance(node.this, (exp.Star, exp.Literal)) and not node.expressions


def _every(conditions: tuple[ReleasedExpression, ...]) -> ReleasedExpression | None:
    """Join conditions by AND; None without conditions."""
    return Apply("and", conditions) if len(conditions) > 1 else next(iter(conditions), None)


class OuterSelect(ReleasedClauses):
    """Binds the clauses of a SELECT around an answer, for which `inner_answer` is not None."""

    def __init__(self, select: exp.Select, inner: BoundQuery) -> None:
        select = distinct_as_groups(select)
        source, clause = _only_source(select), select.args.get("group")
        assert source is not None, "inner_answer found one"
        self._inner = inner
        self._below = inner.display
        self._row = row = AnswerColumns(source[0], inner.display.outputs)
        items = clause.expressions if clause is not None else []
        self._groups = frozenset(row.bind(meant_key(item, select, row.bind)).expression for item in items)
        self._grouped = groups_itself(select)
        binder = AnswerColumns(source[0], inner.display.outputs, self._groups) if self._grouped else row
        super().__init__(select, binder.bind)

    def keeps_rows(self) -> bool:
        """Whether every group of this SELECT is one row of the answer, so that aggregates need no computation."""
        if not self._grouped:
            return True
        if self._select.args.get("distinct"):
            return False
        keys = {KeyValue(index) for index in range(len(self._inner.keys))}
        if keys or self._select.args.get("group"):
            return keys <= self._groups
        limited = self._below.having is not None or self._below.is_limited
        counted = any(holds(item, exp.Count) for item in self._select.expressions)  # it is 1: no charge
        return not (limited or counted) and self._select.args.get("where") is None

    def counts_rows(self) -> bool:
        """Whether this SELECT is COUNT(*) over the whole answer, as tools ask before they fetch the rows.

        Not over an answer without numbers: there the count of groups that may be empty would stand for COUNT(DISTINCT
        key).
        """
        if not self._inner.aggregates:
            return False
        items = self._select.expressions
        plain = not any(self._select.args.get(part) for part in ("group", "having", "distinct", "order"))
        return plain and len(items) == 1 and counts_all(items[0].unalias())

    def count(self) -> BoundQuery:
        """Bind the inner question so that only the number of its rows is shown. Raises: as `query`."""
        where = self.condition("where", self._row)
        if where is not None and self._below.is_limited:
            self._check_only_limits()
        conditions = tuple(part for part in (self._below.having, where) if part is not None)
        if any(map(equals_noisy, conditions)):
            raise equals_noisy_refused(self._select)
        name = output_name(self._select.expressions[0])
        limit, offset = row_count(self._select, "limit"), row_count(self._select, "offset")
        empty, known = limit == 0 or bool(offset), self._known_count(conditions)
        if empty or known is not None:
            return BoundQuery(
                tables=self._inner.tables,
                predicates=self._inner.predicates,
                keys=(),
                aggregates=(),
                display=Display((Output(name, "int8", Given(known or 0)),), limit=0 if empty else None),
            )
        counted = (Output(name, "int8", RowCount()),)
        return replace(self._inner, display=replace(self._below, outputs=counted, having=_every(conditions)))

    def _known_count(self, conditions: Sequence[ReleasedExpression]) -> int | None:
        """Return the number of rows, if it does not depend on released values: none, or one row without keys."""
        if self._below.limit == 0 or any(map(is_never_true, conditions)):
            return 0
        return None if self._inner.keys or conditions else int(not self._below.offset)

    def query(self) -> BoundQuery:
        """Bind the inner question so that it shows the rows and columns that the outer SELECT selects.

        Raises: UnknownColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
        """
        outputs = [output for item in self._select.expressions for output in self._outputs(item)]
        if len(outputs) > MAX_OUTPUTS:
            place = position_of(self._select.expressions[-1])
            raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns", position=place)
        where, having = self.condition("where", self._row), self.condition("having")
        order = self.order(outputs)
        if self._below.is_limited:
            self._check_only_limits()
        conditions = tuple(part for part in (self._below.having, where, having) if part is not None)
        limit, offset = self._limits()
        display = Display(tuple(outputs), _every(conditions), order or self._below.order, limit, offset)
        return replace(self._inner, display=display)

    def _check_only_limits(self) -> None:
        """Refuse to filter or sort behind the inner LIMIT; limiting again is allowed."""
        for part in ("where", "having", "order"):
            clause = self._select.args.get(part)
            if clause is not None:
                hint = "filter and sort in the subquery that has the LIMIT"
                raise UnsupportedSQL(
                    "filtering or sorting after an inner LIMIT is not supported", hint=hint, at=clause
                )

    def _outputs(self, item: exp.Expr) -> list[Output]:
        if isinstance(item, exp.Star) and not self._grouped:
            return list(self._below.outputs)
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and not self._grouped:
            self._row.check_table(item)
            return list(self._below.outputs)
        return [self.output(item)]

    def _limits(self) -> tuple[int | None, int]:
        """Combine LIMIT and OFFSET with those of the inner question."""
        limit, offset = row_count(self._select, "limit"), row_count(self._select, "offset") or 0
        if self._below.limit is not None:
            left = max(0, self._below.limit - offset)
            limit = left if limit is None else min(limit, left)
        return limit, self._below.offset + offset
