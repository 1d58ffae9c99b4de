"""Choices, casts, texts and moments for DuckDB."""

from __future__ import annotations

from sqlglot import exp

from planner.dialects.alignment import chosen, common_type
from planner.dialects.duckdb_cast import duckdb_cast
from planner.dialects.exact_digits import SINGLE, Handler, Typed, Write
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType

_TEXT = SqlType(Family.TEXT)
_COUNT = SqlType(Family.INTEGER, 10)


def _paren(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Paren(this=inner.sql), inner.type)


def _null(node: exp.Expr, write: Write) -> Typed:
    return Typed(node.copy(), SqlType(Family.OTHER))


def _choice(node: exp.Expr, write: Write) -> Typed:
    """COALESCE, LEAST, GREATEST: in both databases the latter skip NULL and NaN is the greatest."""
    values = [write(node.this), *map(write, node.args["expressions"])]
    first, *others = chosen(values)
    options = {name: value for name, value in node.args.items() if name not in ("this", "expressions")}
    return Typed(type(node)(this=first, expressions=others, **options), common_type(values))


def _nullified(node: exp.Expr, write: Write) -> Typed:
    first, second = write(node.this), node.args["expression"]
    if isinstance(second, exp.Literal) and second.is_string and first.type.is_number:
        return first  # 'NaN', which no decimal is
    values = [first, write(second)]
    value, other = chosen(values)
    return Typed(exp.Nullif(this=value, expression=other), common_type(values))


def _case(node: exp.Expr, write: Write) -> Typed:
    default = node.args.get("default")
    values = [write(branch.args["true"]) for branch in node.args["ifs"]]
    values += [] if default is None else [write(default)]
    results = chosen(values)
    case = exp.Case()
    for branch, result in zip(node.args["ifs"], results, strict=False):
        case.append("ifs", exp.If(this=write(branch.this).sql, true=result))
    if default is not None:
        case.set("default", results[-1])
    return Typed(case, common_type(values))


def _cast(node: exp.Expr, write: Write) -> Typed:
    """Of a CASE as a double the branches are cast, where each literal becomes its nearest double."""
    target, inner = node.args["to"], node.this
    if not (target.is_type("double") and isinstance(inner, exp.Case)) or _is_real(inner, write):
        return duckdb_cast(write(inner), target)
    pushed = inner.copy()
    for branch in pushed.args["ifs"]:
        branch.set("true", cast_sql(branch.args["true"], "DOUBLE PRECISION"))
    if pushed.args.get("default") is not None:
        pushed.set("default", cast_sql(pushed.args["default"], "DOUBLE PRECISION"))
    return _case(pushed, write)


def _is_real(case: exp.Case, write: Write) -> bool:
    """May PostgreSQL round its branches to a real before the cast?"""
    values = [branch.args["true"] for branch in case.args["ifs"]]
    values += [case.args["default"]] if case.args.get("default") is not None else []
    return any(write(value).type == SINGLE for value in values)


def _text(node: exp.Expr, write: Write) -> Typed:
    """Functions whose parts are texts and whole literals; both databases count characters, not bytes."""
    return Typed(_over_texts(node, write), _TEXT)


def _count(node: exp.Expr, write: Write) -> Typed:
    return Typed(_over_texts(node, write), _COUNT)


def _trim(node: exp.Expr, write: Write) -> Typed:
    """Blanks, unless characters are given: DuckDB's own default is not named in its manual."""
    trimmed = _over_texts(node, write)
    if trimmed.args.get("expression") is None:
        trimmed.set("expression", exp.Literal.string(" "))
    return Typed(trimmed, _TEXT)


def _over_texts(node: exp.Expr, write: Write) -> exp.Expr:
    arguments = {
        name: write(value).sql if isinstance(value, exp.Expr) and not isinstance(value, exp.Var) else value
        for name, value in node.args.items()
    }
    return type(node)(**arguments)


def _extract(node: exp.Expr, write: Write) -> Typed:
    """Fields that both databases number alike: Sunday is DOW 0 and ISODOW 7, weeks are those of ISO 8601."""
    sql = exp.Extract(this=node.this.copy(), expression=write(node.args["expression"]).sql)
    return Typed(sql, SqlType(Family.INTEGER, 4))


def _truncated(node: exp.Expr, write: Write) -> Typed:
    sql = exp.TimestampTrunc(this=write(node.this).sql, unit=node.args["unit"].copy())
    return Typed(sql, SqlType(Family.TIMESTAMP))


def _at_zone(node: exp.Expr, write: Write) -> Typed:
    inner, zone = write(node.this), node.args["zone"].copy()
    family = Family.TIMESTAMP if inner.type.family is Family.TIMESTAMPTZ else Family.TIMESTAMPTZ
    return Typed(exp.AtTimeZone(this=inner.sql, zone=zone), SqlType(family))


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Paren: _paren,
    exp.Null: _null,
    exp.Coalesce: _choice,
    exp.Least: _choice,
    exp.Greatest: _choice,
    exp.Nullif: _nullified,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Length: _count,
    exp.StrPosition: _count,
    exp.Lower: _text,
    exp.Upper: _text,
    exp.Trim: _trim,
    exp.Substring: _text,
    exp.Left: _text,
    exp.Right: _text,
    exp.DPipe: _text,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
    exp.AtTimeZone: _at_zone,
}
