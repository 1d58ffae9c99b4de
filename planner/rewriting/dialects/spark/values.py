"""CASE and casts for Spark; each cast fails for no row and gives what PostgreSQL gives."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.alignment import aligned, common_type
from planner.rewriting.dialects.duckdb_values import in_zone
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write, as_double, as_exact, exact_type
from planner.rewriting.dialects.spark.calls import call, double, number, try_cast
from planner.rewriting.dialects.spark.moments import as_moment
from planner.rules.guard_weight import UNITS
from planner.sql.calls import InZone
from planner.sql.sql_nodes import cast_sql, is_type
from planner.sql.sql_types import REAL, Family, SqlType

_WHOLE = {"SMALLINT": 5, "INT": 10, "BIGINT": 19}
_EXACT = (Family.INTEGER, Family.NUMERIC)
_CHOOSABLE = (
    {Family.INTEGER, Family.NUMERIC, Family.FLOAT}, {Family.TEXT}, {Family.BOOL}, {Family.DATE}, {Family.TIMESTAMP},
    {Family.TIMESTAMPTZ},
)  # fmt: skip
"""Families whose values may be chosen from together."""

_SAME_TEXT = frozenset({Family.INTEGER, Family.TEXT, Family.BOOL, Family.DATE, Family.TIMESTAMP})
"""Types whose text is the same in both databases (years 1 to 9999, which no key of a domain leaves)."""

_LITERALS = {"date": Family.DATE, "timestamp": Family.TIMESTAMP}


def _paren(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Paren(this=inner.sql), inner.type)


def _null(node: exp.Expr, write: Write) -> Typed:
    return Typed(node.copy(), SqlType(Family.OTHER))


def _chosen(values: Sequence[Typed]) -> list[exp.Expr]:
    """Values of which one is chosen, of one type: Spark would find one of its own for texts beside numbers."""
    families = {value.type.family for value in values} - {Family.OTHER}
    if not any(families <= together for together in _CHOOSABLE):
        raise UnsupportedSQL("a choice between values of these types is not supported on Spark")
    return aligned(values)


def chosen_value(node: exp.Expr, write: Write) -> Typed:
    """COALESCE, LEAST, GREATEST: in both databases the latter skip NULL and NaN is the greatest."""
    values = [write(node.this), *map(write, node.args["expressions"])]
    name = {exp.Coalesce: "COALESCE", exp.Least: "LEAST"}.get(type(node), "GREATEST")  # type: ignore[arg-type]
    return Typed(call(name, *_chosen(values)), common_type(values))


def _nullified(node: exp.Expr, write: Write) -> Typed:
    first, second = write(node.this), node.args["expression"]
    if isinstance(second, exp.Literal) and second.is_string and first.type.is_number:
        assert second.name == "NaN", "the only quoted number that rules write"
        if first.type.family is not Family.FLOAT:
            return first  # no decimal is NaN
        return Typed(call("NULLIF", first.sql, double("NaN")), first.type)
    values = [first, write(second)]
    return Typed(call("NULLIF", *_chosen(values)), common_type(values))


def _case(node: exp.Expr, write: Write) -> Typed:
    if node.this is not None:
        raise UnsupportedSQL("CASE with a value is not supported on Spark", hint="write CASE WHEN x = ...")
    default = node.args.get("default")
    values = [write(branch.args["true"]) for branch in node.args["ifs"]]
    values += [] if default is None else [write(default)]
    results = _chosen(values)
    case = exp.Case()
    for branch, result in zip(node.args["ifs"], results, strict=False):
        case.append("ifs", exp.If(this=write(branch.this).sql, true=result))
    if default is not None:
        case.set("default", results[-1])
    return Typed(case, common_type(values))


def _cast(node: exp.Expr, write: Write) -> Typed:
    """Of a CASE as a double the branches are cast, where each literal becomes its nearest double."""
    target, inner = node.args["to"], node.this
    weight = _weight(node, write)
    if weight is not None:
        return weight
    if not (is_type(target, "double") and isinstance(inner, exp.Case)):
        return spark_cast(write(inner), target)
    pushed = inner.copy()
    for branch in pushed.args["ifs"]:
        branch.set("true", cast_sql(branch.args["true"], "DOUBLE PRECISION"))
    if pushed.args.get("default") is not None:
        pushed.set("default", cast_sql(pushed.args["default"], "DOUBLE PRECISION"))
    return _case(pushed, write)


def _weight(node: exp.Expr, write: Write) -> Typed | None:
    """What `guard_weight` writes, with FLOOR outside of its bounds, which are whole numbers: it is the same there.

    So it is FLOOR of a small number, of which Spark makes a bigint; None for any other cast.
    """
    number = inside_of_weight(node)
    if number is None or write(number).type.family is not Family.FLOAT:
        return None
    known = call("COALESCE", write(number).sql, double("0"))
    clamped = call("GREATEST", double("0"), call("LEAST", double(str(UNITS)), known))
    return Typed(call("FLOOR", clamped), SqlType(Family.INTEGER))


def inside_of_weight(node: exp.Expr) -> exp.Expr | None:
    """The number that `planner.rules.guard_weight.guard_weight` has made a weight of; None for another cast.

    >>> from planner.rules.guard_weight import guard_weight
    >>> inside_of_weight(guard_weight(exp.column("x"), 50.0).sql).sql("postgres")
    'x / 50 * 1073741824 + 0.5'
    """
    clamped = node.this
    least = clamped.expressions[0] if isinstance(clamped, exp.Greatest) and len(clamped.expressions) == 1 else None
    known = least.expressions[0] if isinstance(least, exp.Least) and len(least.expressions) == 1 else None
    floor = known.this if isinstance(known, exp.Coalesce) else None
    if not isinstance(floor, exp.Floor) or not isinstance(floor.this, exp.Add):
        return None
    assert least is not None and known is not None
    bounds = (clamped.this, least.this, *known.expressions)
    written = [bound.name for bound in bounds if isinstance(bound, exp.Literal)]
    return floor.this if written == ["0", str(UNITS), "0"] and is_type(node.args["to"], "bigint") else None


def spark_cast(value: Typed, target: exp.DataType) -> Typed:
    """CAST(value AS target). Raises: UnsupportedSQL for a cast that has not been compared.

    PostgreSQL rounds to a whole number, halves of a decimal away from zero and of a double to even; Spark cuts.

    >>> column = Typed(exp.column("x"), SqlType(Family.FLOAT))
    >>> spark_cast(column, exp.DataType.build("BIGINT")).sql.sql("spark")
    'TRY_CAST(RINT(x) AS BIGINT)'
    >>> spark_cast(Typed(exp.column("n"), SqlType(Family.INTEGER)), exp.DataType.build("DECIMAL")).sql.sql("spark")
    'CAST(n AS DECIMAL(19, 0))'
    """
    family = value.type.family
    if isinstance(value.sql, exp.Null):
        return _null_of(value, target)
    if is_type(target, "double") and value.type.is_number:
        return Typed(as_double(value), SqlType(Family.FLOAT))
    if is_type(target, "float") and value.type.is_number:  # a real, which is a double of the same value from then on
        number = value.sql if family is Family.INTEGER else as_double(value)
        return Typed(cast_sql(exp.Cast(this=number, to=target.copy()), "DOUBLE"), REAL)
    if value.type == REAL and is_type(target, "decimal"):
        raise UnsupportedSQL("a real as numeric is not supported on Spark", hint="write x::double precision")
    for name, digits in _WHOLE.items():
        if is_type(target, name) and (value.type.is_number or family is Family.BOOL):
            return Typed(_whole(value, name, digits), SqlType(Family.INTEGER, digits))
    if is_type(target, "decimal") and family in _EXACT and not target.expressions:
        kind = exact_type(value.whole, value.scale)  # a choice between integers and numerics may be an integer here
        return Typed(cast_sql(value.sql, f"DECIMAL({kind.precision}, {kind.scale})"), kind)
    fixed = family is Family.NUMERIC and isinstance(value.sql, exp.Column)  # all its digits, as there
    if is_type(target, "text", "varchar") and not target.expressions and (fixed or family in _SAME_TEXT):
        return Typed(cast_sql(value.sql, "TEXT"), SqlType(Family.TEXT))
    for name, literal_family in _LITERALS.items():
        if is_type(target, name) and isinstance(value.sql, exp.Literal):
            return Typed(exp.Cast(this=value.sql, to=target.copy()), SqlType(literal_family))
    if is_type(target, "timestamp") and family in (Family.DATE, Family.TIMESTAMP):
        return Typed(as_moment(value), SqlType(Family.TIMESTAMP))
    if is_type(target, "date") and family in (Family.DATE, Family.TIMESTAMP):
        return Typed(value.sql if family is Family.DATE else cast_sql(value.sql, "DATE"), SqlType(Family.DATE))
    name = target.sql("postgres").lower()
    raise UnsupportedSQL(f"this cast to {name} is not supported on Spark")


def _null_of(value: Typed, target: exp.DataType) -> Typed:
    for name in ("DOUBLE", "BIGINT", "TEXT", "BOOLEAN", "DATE"):
        if is_type(target, name) and not target.expressions:
            families = {"DOUBLE": Family.FLOAT, "BIGINT": Family.INTEGER, "TEXT": Family.TEXT}
            family = families.get(name, Family.BOOL if name == "BOOLEAN" else Family.DATE)
            return Typed(cast_sql(value.sql, name), SqlType(family))
    raise UnsupportedSQL(f"NULL as {target.sql('postgres').lower()} is not supported on Spark")


def _whole(value: Typed, name: str, digits: int) -> exp.Expr:
    family = value.type.family
    if family is Family.BOOL or (value.is_literal and not value.scale and value.whole < digits):
        return cast_sql(value.sql, name)
    if family is Family.INTEGER:
        narrower = (value.type.precision or 19) <= digits
        return cast_sql(value.sql, name) if narrower else try_cast(value.sql, name)
    if family is Family.FLOAT:
        return try_cast(call("RINT", value.sql), name)
    return try_cast(call("ROUND", as_exact(value), number(0)) if value.scale else value.sql, name)


VALUES: dict[type[exp.Expr], Handler] = {
    InZone: in_zone,
    exp.Paren: _paren,
    exp.Null: _null,
    exp.Coalesce: chosen_value,
    exp.Least: chosen_value,
    exp.Greatest: chosen_value,
    exp.Nullif: _nullified,
    exp.Case: _case,
    exp.Cast: _cast,
}
