"""Labels of enums: their order, which is that of the declaration, and literals that say their type."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UndefinedOperator, UnsupportedSQL
from planner.schema import table_name
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import fold, position_of

OF_TYPE = "of_type"
"""Key of the meta of a literal or a placeholder that was cast to an enum: the name of the type, as written."""

_MOST = 200
"""Labels of an enum whose order is computed."""


def label_place(label: exp.Expr, kind: SqlType, node: exp.Expr) -> exp.Expr:
    """The place of a label among those of its enum, as a whole number; NULL for NULL.

    Raises: UnsupportedSQL for an enum of so many labels that the statement would grow too long.

    >>> label_place(exp.column("m"), SqlType(Family.ENUM, labels=("sad", "ok")), exp.column("m")).sql()
    "CASE WHEN m = 'sad' THEN 0 WHEN m = 'ok' THEN 1 END"
    """
    if len(kind.labels) > _MOST:
        hint = "sort or compare its labels as text: status::text"
        raise UnsupportedSQL(f"the order of more than {_MOST} labels", hint=hint, position=position_of(node))
    case = exp.Case()
    for place, known in enumerate(kind.labels):
        same = exp.EQ(this=label.copy(), expression=exp.Literal.string(known))
        case = case.when(same, exp.Literal.number(place), copy=False)
    return case


def ordered_labels(operator: type[exp.Expr], label: exp.Expr, literal: str, kind: SqlType) -> exp.Expr:
    """`label < literal` and the like: which labels there are is known, so it is a list of them.

    >>> mood = SqlType(Family.ENUM, labels=("sad", "ok", "happy"))
    >>> [ordered_labels(one, exp.column("m"), "ok", mood).sql() for one in (exp.GTE, exp.LT)]
    ["m IN ('happy', 'ok')", "m IN ('sad')"]
    >>> ordered_labels(exp.LT, exp.column("m"), "sad", mood).sql()
    'm <> m'
    """
    place = kind.labels.index(literal)
    end = place + (operator in (exp.LTE, exp.GT))
    meant = kind.labels[:end] if operator in (exp.LT, exp.LTE) else kind.labels[end:]
    listed = [exp.Literal.string(one) for one in sorted(meant)]
    if not listed:  # false, but NULL for NULL
        return exp.NEQ(this=label, expression=label.copy())
    return exp.In(this=label, expressions=listed)


def type_written(target: exp.DataType) -> str | None:
    """The name of a type that PostgreSQL does not have itself; None for its own types."""
    name = target.args.get("kind") if target.this is exp.DType.USERDEFINED else None
    if isinstance(name, exp.Identifier):
        return fold(name)
    if isinstance(name, exp.Dot) and all(isinstance(part, exp.Identifier) for part in (name.this, name.expression)):
        return table_name(fold(name.this), fold(name.expression))
    return None


def is_named(kind: SqlType, name: str) -> bool:
    """May an enum be of the type of that name? Files do not say how their enums are called."""
    return kind.family is Family.ENUM and (not kind.enum or name in (kind.enum, kind.enum.rpartition(".")[2]))


def check_type(written: exp.Expr, kind: SqlType) -> None:
    """Is a literal that says its type one of this type? Raises: UnsupportedSQL, UndefinedOperator."""
    name = written.meta.get(OF_TYPE)
    if name is None:
        return
    if kind.family is not Family.ENUM:
        hint = "compare it with a column of that type"
        raise UnsupportedSQL(f"the type {name} is not supported here", hint=hint, position=position_of(written))
    if not is_named(kind, name):
        hint = "compare an enum with labels of its own type"
        raise UndefinedOperator(
            f"{kind.enum} and {name} are not compared here", hint=hint, position=position_of(written)
        )
