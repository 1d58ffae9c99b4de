"""The rewritten SQL for DuckDB: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead:

* `numeric` has 38 digits at most and a literal's type depends on its digits: digits are counted, literals cast;
* a decimal becomes a double by division, which rounds twice for long ones: those go through text;
* no decimal is NaN, and 'NaN' is no decimal;
* `real` against a literal compares as real: it is widened first;
* LIKE has no escape character unless it is named;
* a date outside the years of timestamps fails to become one: it is unknown instead.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import ErrorLevel, exp

from planner.bound_query import column_type
from planner.dialects.alignment import aligned, common_type, compared
from planner.dialects.duckdb_cast import duckdb_cast
from planner.dialects.exact_digits import Typed, as_double, as_exact, exact_type, literal, numeric
from planner.errors import UnsupportedSQL
from planner.schema import Schema, Table
from planner.sql_types import Family, SqlType

_CLAUSES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Order, exp.Ordered, exp.Distinct, exp.Alias,
    exp.TableAlias, exp.Table, exp.TableSample, exp.Identifier, exp.Var,
)  # fmt: skip
_NO_TYPE = SqlType(Family.OTHER)
_BOOL = SqlType(Family.BOOL)
_DOUBLE = SqlType(Family.FLOAT)


def duckdb_sql(tree: exp.Expr, schema: Schema, *, pretty: bool = False) -> str:
    """Write a statement for DuckDB.

    Args:
      tree: what the rules built: generated aliases, bound columns.
      schema: the catalog, for the columns' types.
    Raises: UnsupportedSQL where DuckDB would answer differently or could fail for some row.
    """
    tables = {node.alias_or_name: schema.tables[node.name] for node in tree.find_all(exp.Table)}
    written = _Writer(tables).write(tree).sql
    return written.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)


@dataclass(frozen=True)
class _Writer:
    """Rewrites bottom-up; every value carries its type."""

    tables: Mapping[str, Table]

    def write(self, node: exp.Expr) -> Typed:
        """The node for DuckDB. Raises: UnsupportedSQL for a construct that is not known to mean the same there."""
        method = _METHODS.get(type(node))
        if method is not None:
            return method(self, node)
        if isinstance(node, _CLAUSES):
            return self._children(node, _NO_TYPE)
        raise UnsupportedSQL(f"{type(node).__name__.upper()} is not supported on DuckDB")

    def _children(self, node: exp.Expr, kind: SqlType) -> Typed:
        """The same node over rewritten children."""
        arguments: dict[str, object] = {}
        for name, value in node.args.items():
            if isinstance(value, list):
                arguments[name] = [self.write(part).sql if isinstance(part, exp.Expr) else part for part in value]
            else:
                arguments[name] = self.write(value).sql if isinstance(value, exp.Expr) else value
        return Typed(type(node)(**arguments), kind)

    def _column(self, node: exp.Expr) -> Typed:
        alias, *others = [node.args["table"].name] if node.args.get("table") else self.tables
        assert not others, "a column without its table stands in a query over one table"
        kind = column_type(self.tables[alias], node.name)
        return Typed(exp.cast(node.copy(), "DOUBLE") if kind.family is Family.FLOAT else node.copy(), kind)

    def _literal(self, node: exp.Expr) -> Typed:
        assert isinstance(node, exp.Literal)
        return Typed(node.copy(), SqlType(Family.TEXT)) if node.is_string else literal(node)

    def _boolean(self, node: exp.Expr) -> Typed:
        return self._children(node, _BOOL)

    def _same_type(self, node: exp.Expr) -> Typed:
        """Parentheses, a sign, an absolute value: of the type of what is inside."""
        inner = self.write(node.this)
        return Typed(type(node)(this=inner.sql), inner.type)

    def _null(self, node: exp.Expr) -> Typed:
        return Typed(node.copy(), _NO_TYPE)

    def _compare(self, node: exp.Expr) -> Typed:
        if isinstance(node.expression, exp.Literal) and node.expression.is_string and node.expression.name == "NaN":
            return self._no_nan(node)
        left, right = compared([self.write(node.this), self.write(node.expression)])
        return Typed(type(node)(this=left, expression=right), _BOOL)

    def _no_nan(self, node: exp.Expr) -> Typed:
        """`x <> 'NaN'`; a decimal never is, unless it is NULL."""
        value = self.write(node.this)
        if value.type.family is Family.TEXT:
            return Typed(type(node)(this=value.sql, expression=node.expression.copy()), _BOOL)
        assert isinstance(node, exp.NEQ), "no other test for NaN is ever written"
        if value.type.family is Family.FLOAT:
            return Typed(exp.NEQ(this=value.sql, expression=exp.cast(node.expression.copy(), "DOUBLE")), _BOOL)
        return Typed(exp.Is(this=value.sql, expression=exp.Null(), negate=True), _BOOL)

    def _between(self, node: exp.Expr) -> Typed:
        value, low, high = compared([self.write(node.args[part]) for part in ("this", "low", "high")])
        return Typed(exp.Between(this=value, low=low, high=high), _BOOL)

    def _in(self, node: exp.Expr) -> Typed:
        assert isinstance(node, exp.In)
        value, *items = compared([self.write(node.this), *map(self.write, node.expressions)])
        return Typed(exp.In(this=value, expressions=items), _BOOL)

    def _like(self, node: exp.Expr) -> Typed:
        like, negated = exp.Like(this=self.write(node.this).sql, expression=node.expression.copy()), node.args
        escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
        return Typed(exp.Not(this=escaped) if negated.get("negate") else escaped, _BOOL)

    def _arithmetic(self, node: exp.Expr) -> Typed:
        left, right = self.write(node.this), self.write(node.args["expression"])
        if Family.FLOAT in (left.type.family, right.type.family):
            return Typed(type(node)(this=as_double(left), expression=as_double(right)), _DOUBLE)
        if isinstance(node, exp.Mul):
            kind = exact_type(left.whole + right.whole, left.scale + right.scale)
        else:
            kind = exact_type(max(left.whole, right.whole) + 1, max(left.scale, right.scale))
        return Typed(type(node)(this=as_exact(left), expression=as_exact(right)), kind)

    def _quotient(self, node: exp.Expr) -> Typed:
        left, right = self.write(node.this), self.write(node.args["expression"])
        if Family.FLOAT not in (left.type.family, right.type.family):
            hint = "multiply the other side of the comparison instead"
            raise UnsupportedSQL("DuckDB does not divide decimals exactly", hint=hint)
        return Typed(exp.Div(this=as_double(left), expression=as_double(right), typed=True), _DOUBLE)

    def _whole_quotient(self, node: exp.Expr) -> Typed:
        """PostgreSQL's div() and DuckDB's // both drop the fraction; the latter takes integers only."""
        left, right = self.write(node.this), self.write(node.args["expression"])
        kind = exact_type(left.whole, 0)
        sides = [exp.cast(as_exact(side), "HUGEINT", dialect="duckdb") for side in (left, right)]
        quotient = exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1]))
        return Typed(exp.cast(quotient, f"DECIMAL({kind.precision}, 0)", dialect="duckdb"), kind)

    def _rounded(self, node: exp.Expr) -> Typed:
        inner = self.write(node.this)
        assert inner.type.family is Family.FLOAT, "only doubles are rounded"
        return Typed(type(node)(this=inner.sql), _DOUBLE)

    def _choice(self, node: exp.Expr) -> Typed:
        """COALESCE, LEAST, GREATEST: in both databases the latter skip NULL and NaN is the greatest."""
        values = [self.write(node.this), *map(self.write, node.args["expressions"])]
        first, *others = aligned(values)
        options = {name: value for name, value in node.args.items() if name not in ("this", "expressions")}
        return Typed(type(node)(this=first, expressions=others, **options), common_type(values))

    def _case(self, node: exp.Expr) -> Typed:
        default = node.args.get("default")
        values = [self.write(branch.args["true"]) for branch in node.args["ifs"]]
        values += [] if default is None else [self.write(default)]
        results = aligned(values)
        case = exp.Case()
        for branch, result in zip(node.args["ifs"], results, strict=False):
            case.append("ifs", exp.If(this=self.write(branch.this).sql, true=result))
        if default is not None:
            case.set("default", results[-1])
        return Typed(case, common_type(values))

    def _sum(self, node: exp.Expr) -> Typed:
        inner = self.write(node.this)
        assert inner.type.family is Family.INTEGER, "weights are whole numbers"
        return Typed(exp.Sum(this=inner.sql), numeric(38, 0))

    def _cast(self, node: exp.Expr) -> Typed:
        target, inner = node.args["to"], node.this
        if target.is_type("double") and isinstance(inner, exp.Case):
            return self._case(_cast_branches(inner))
        return duckdb_cast(self.write(inner), target)


def _cast_branches(case: exp.Case) -> exp.Case:
    """CAST(CASE ...) with the cast in the branches, where each literal becomes its nearest double."""
    pushed = case.copy()
    for branch in pushed.args["ifs"]:
        branch.set("true", exp.cast(branch.args["true"], "DOUBLE PRECISION"))
    if pushed.args.get("default") is not None:
        pushed.set("default", exp.cast(pushed.args["default"], "DOUBLE PRECISION"))
    return pushed


_METHODS: dict[type[exp.Expr], Callable[[_Writer, exp.Expr], Typed]] = {
    exp.Column: _Writer._column,
    exp.Literal: _Writer._literal,
    exp.Boolean: _Writer._boolean,
    exp.Null: _Writer._null,
    exp.Paren: _Writer._same_type,
    exp.Neg: _Writer._same_type,
    exp.Abs: _Writer._same_type,
    exp.Max: _Writer._same_type,
    exp.And: _Writer._boolean,
    exp.Or: _Writer._boolean,
    exp.Not: _Writer._boolean,
    exp.Is: _Writer._boolean,
    exp.EQ: _Writer._compare,
    exp.NEQ: _Writer._compare,
    exp.LT: _Writer._compare,
    exp.LTE: _Writer._compare,
    exp.GT: _Writer._compare,
    exp.GTE: _Writer._compare,
    exp.Between: _Writer._between,
    exp.In: _Writer._in,
    exp.Like: _Writer._like,
    exp.Add: _Writer._arithmetic,
    exp.Sub: _Writer._arithmetic,
    exp.Mul: _Writer._arithmetic,
    exp.Div: _Writer._quotient,
    exp.IntDiv: _Writer._whole_quotient,
    exp.Floor: _Writer._rounded,
    exp.Trunc: _Writer._rounded,
    exp.Coalesce: _Writer._choice,
    exp.Least: _Writer._choice,
    exp.Greatest: _Writer._choice,
    exp.Case: _Writer._case,
    exp.Cast: _Writer._cast,
    exp.Sum: _Writer._sum,
}
