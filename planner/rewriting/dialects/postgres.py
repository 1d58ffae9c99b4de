"""The parser library's writer for PostgreSQL, with a fast path for common nodes."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from planner.expressions.column_ranges import STEPS
from planner.sql.datetimes import longest_text, moment_form, shows_time
from planner.sql.trees import TextDate

_DIALECT = Postgres()


def _rounded(writer: PostgresGenerator, expression: exp.Round) -> str:
    return _ROUND(writer, expression.copy())  # it writes types into the tree


_ROUND = PostgresGenerator.TRANSFORMS[exp.Round]


_PARTS_OF_A_DATE = ("year", "month", "day")


def _text_date(writer: PostgresGenerator, node: exp.Expr) -> str:
    """The expression matches dates only, so to_date cannot fail. A longer text has another form; no more is read."""
    text, branches = writer.sql(node, "this"), []
    for form in node.expressions:
        short, known = f"LEFT({text}, {longest_text(form.name) + 1})", exp.Literal.string(moment_form(form.name))
        read = f"TO_DATE({text}, {writer.sql(form)})"
        if shows_time(form.name):
            read = f"CAST(TO_TIMESTAMP({text}, {writer.sql(form)}) AS TIMESTAMP)"
        branches.append(f"WHEN {short} ~ {writer.sql(known)} THEN {read}")
    return f"CASE {' '.join(branches)} END"


class PostgresWriter(PostgresGenerator):
    """Writes the same text as PostgresGenerator in half the time, and leaves uncommon nodes to it.

    The tree is not changed, so it need not be copied. Raises: UnsupportedError rather than drop what PostgreSQL
    lacks.
    """

    TRANSFORMS: ClassVar = {
        **PostgresGenerator.TRANSFORMS,
        exp.Round: _rounded,
        TextDate: _text_date,
        exp.DateFromParts: lambda writer, node: writer.func("MAKE_DATE", *map(node.args.get, _PARTS_OF_A_DATE)),
        exp.FarmFingerprint: lambda writer, node: writer.func("HASHTEXT", *node.expressions),
    }

    def __init__(self) -> None:
        super().__init__(dialect=_DIALECT, unsupported_level=ErrorLevel.RAISE, comments=False)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """A quoted identifier; the fast path needs no escaping."""
        name = expression.args["this"]
        plain = expression.args.get("quoted") and name.isidentifier()  # nothing to escape
        return f'"{name}"' if plain else super().identifier_sql(expression)

    def column_sql(self, expression: exp.Column) -> str:
        """A column with its table."""
        table, name = expression.args.get("table"), expression.args["this"]
        if len(expression.args) != 2 or not isinstance(table, exp.Identifier) or not isinstance(name, exp.Identifier):
            return super().column_sql(expression)
        return f"{self.identifier_sql(table)}.{self.identifier_sql(name)}"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """A cast. A clamped numeric with whole steps is computed from bigints, with the same double as the result.

        PostgreSQL casts a numeric to double by way of its text, and compares numerics digit by digit. A bigint of its
        last digits is clamped and divided in a third of the time. NaN becomes NULL.
        """
        steps = expression.meta.get(STEPS) if expression.meta else None
        if steps is None:
            return super().cast_sql(expression, safe_prefix)
        one, low, high = steps
        column = self.sql(expression.this.args["ifs"][0].this.this)
        number = f"LEAST(GREATEST(CAST({column} * {one} AS BIGINT), {low}), {high})"
        return f"CASE WHEN {column} <> 'NaN' THEN CAST({number} AS DOUBLE PRECISION) / {one} END"

    def datatype_sql(self, expression: exp.DataType) -> str:
        """A type without parameters."""
        kind = expression.args["this"]
        plain = isinstance(kind, exp.DType) and not any(map(expression.args.get, _PARAMETERS))
        return _type_name(kind) if plain else super().datatype_sql(expression)

    def binary(self, expression: exp.Binary, op: str) -> str:
        """An operator whose operands are of other kinds."""
        left, right = expression.args.get("this"), expression.args.get("expression")
        chained = type(expression) in (type(left), type(right)) or isinstance(expression, exp.Is)
        if chained or expression.args.get("operator"):
            return super().binary(expression, op)
        return f"{self.sql(left)} {op} {self.sql(right)}"


_PARAMETERS = [part for part in exp.DataType.arg_types if part != "this"]


@cache
def _type_name(kind: exp.DType) -> str:
    return PostgresGenerator(dialect=_DIALECT).datatype_sql(exp.DataType(this=kind))


def postgres_sql(tree: exp.Expr) -> str:
    """The SQL of a tree, without changing it. Raises: UnsupportedError rather than drop what PostgreSQL lacks."""
    return PostgresWriter().generate(tree, copy=False)
