"""The argument of SUM as total SQL with proved bounds."""

from __future__ import annotations

from sqlglot import exp

from planner import ranges
from planner.bound_query import BoundQuery
from planner.errors import SensitivityUnbounded, UnsupportedSQL
from planner.exact_arithmetic import divisor
from planner.literals import number, number_sql
from planner.policy import Policy
from planner.positions import position_of
from planner.ranges import Bounds
from planner.rules.clamp_column import clamp_column

Measured = tuple[exp.Expr, Bounds | None]
"""SQL of a double (NULL allowed, never NaN) and its bounds; None where it is always NULL."""


class Measure:
    """Binds SUM arguments to doubles within bounds, from the ranges that the policy declares."""

    def __init__(self, query: BoundQuery, policy: Policy) -> None:
        self._query = query
        self._policy = policy

    def bounded(self, node: exp.Expr) -> tuple[exp.Expr, Bounds]:
        """SQL of a double and its bounds.

        Raises: SensitivityUnbounded naming every column whose range is missing; UnsupportedSQL.
        """
        self._check_ranges(node)
        sql, bounds = self._measure(node)
        if bounds is not None and not bounds.weighable:
            raise _unfit(node)
        return sql, bounds or ranges.constant(0.0, True)

    def _check_ranges(self, node: exp.Expr) -> None:
        missing = {}
        for column in _values(node):
            table = self._query.table_of(column).table.name
            if not self._query.type_of(column).is_number:
                raise UnsupportedSQL(f"SUM over {column.name!r}, which is no number", position=position_of(column))
            if self._policy.column(table, column.name).range is None:
                missing[f"{table}.{column.name}"] = column
        if missing:
            names = ", ".join(sorted(missing))
            hint = "ask the custodian to declare `range = [lowest, highest]` for it in the policy"
            position = position_of(next(iter(missing.values())))
            raise SensitivityUnbounded(f"no range is declared for {names}", hint=hint, position=position)

    def _measure(self, node: exp.Expr) -> Measured:
        sql, bounds = self._node(node)
        if bounds is not None and not bounds.safe:
            raise _unfit(node)
        return sql, bounds

    def _node(self, node: exp.Expr) -> Measured:
        if isinstance(node, exp.Paren):
            return self._measure(node.this)
        if isinstance(node, exp.Null):
            return exp.cast(exp.Null(), "DOUBLE PRECISION"), None
        if isinstance(node, exp.Literal) and not node.is_string:
            value = number(node)
            return exp.cast(number_sql(value), "DOUBLE PRECISION"), ranges.constant(
                float(value), node.name.isdecimal()
            )
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Neg):
            sql, bounds = self._measure(node.this)
            return exp.Neg(this=_wrap(sql)), bounds and ranges.negative(bounds)
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return self._binary(node)
        if isinstance(node, exp.Div):
            return self._quotient(node)
        if isinstance(node, exp.Case):
            return self._case(node)
        name = type(node).__name__.upper()
        raise UnsupportedSQL(f"{name} is not supported inside SUM", position=position_of(node))

    def _column(self, node: exp.Column) -> Measured:
        declared = self._policy.column(self._query.table_of(node).table.name, node.name).range
        assert declared is not None, "checked before"
        return clamp_column(node, self._query.type_of(node), *declared)

    def _binary(self, node: exp.Expr) -> Measured:
        (left, a), (right, b) = self._measure(node.this), self._measure(node.expression)
        sql = type(node)(this=_wrap(left), expression=_wrap(right))
        if a is None or b is None:
            return sql, None
        if isinstance(node, exp.Mul):
            return sql, ranges.product(a, b)
        return sql, ranges.total(a, b if isinstance(node, exp.Add) else ranges.negative(b))

    def _quotient(self, node: exp.Div) -> Measured:
        left, bounds = self._measure(node.this)
        value = divisor(node.expression)
        sql: exp.Expr = exp.Div(this=_wrap(left), expression=number_sql(value), typed=True)
        if bounds is None:
            return sql, None
        if bounds.integral and node.expression.name.isdecimal():
            return exp.Trunc(this=sql), ranges.truncated(bounds, float(value))
        return sql, ranges.quotient(bounds, float(value))

    def _case(self, node: exp.Case) -> Measured:
        case, bounds = exp.Case(), None
        for branch in node.args["ifs"]:
            sql, arm = self._measure(branch.args["true"])
            case.append("ifs", exp.If(this=branch.this.copy(), true=sql))
            bounds = ranges.either(bounds, arm) if bounds and arm else bounds or arm
        if node.args.get("default") is not None:
            sql, arm = self._measure(node.args["default"])
            case.set("default", sql)
            bounds = ranges.either(bounds, arm) if bounds and arm else bounds or arm
        return case, bounds


def _unfit(node: exp.Expr) -> SensitivityUnbounded:
    hint = "declare narrower ranges, or ask for a simpler expression"
    return SensitivityUnbounded("the sum's bounds do not fit a double", hint=hint, position=position_of(node))


def _values(node: exp.Expr) -> list[exp.Column]:
    """The columns whose value enters the sum; those of conditions do not."""
    if isinstance(node, exp.Column):
        return [node]
    children = [node.args["true"]] if isinstance(node, exp.If) else list(node.iter_expressions())
    return [column for child in children for column in _values(child)]


def _wrap(sql: exp.Expr) -> exp.Expr:
    return sql if isinstance(sql, (exp.Column, exp.Cast, exp.Case, exp.Trunc)) else exp.Paren(this=sql)
