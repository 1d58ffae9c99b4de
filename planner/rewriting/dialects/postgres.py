"""The parser library's writer for PostgreSQL, with a short way for the names, types and operators of most trees."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

_DIALECT = Postgres()


def _rounded(writer: PostgresGenerator, expression: exp.Round) -> str:
    return _ROUND(writer, expression.copy())  # it notes types in the tree


_ROUND = PostgresGenerator.TRANSFORMS[exp.Round]


class PostgresWriter(PostgresGenerator):
    """Writes what PostgresGenerator writes, in half its time: nodes that are not of a plain kind are left to it.

    The tree stays as it was, so it need not be copied, if it is one that the planner makes.
    Raises: UnsupportedError rather than drop what PostgreSQL lacks.
    """

    TRANSFORMS: ClassVar = {**PostgresGenerator.TRANSFORMS, exp.Round: _rounded}

    def __init__(self, *, pretty: bool = False) -> None:
        super().__init__(dialect=_DIALECT, unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """An identifier, quoted: written here where nothing in it is to be escaped."""
        name = expression.args["this"]
        plain = expression.args.get("quoted") and name.isidentifier()  # nothing to escape
        return f'"{name}"' if plain else super().identifier_sql(expression)

    def column_sql(self, expression: exp.Column) -> str:
        """A column with its table."""
        table, name = expression.args.get("table"), expression.args["this"]
        if len(expression.args) != 2 or not isinstance(table, exp.Identifier) or not isinstance(name, exp.Identifier):
            return super().column_sql(expression)
        return f"{self.identifier_sql(table)}.{self.identifier_sql(name)}"

    def datatype_sql(self, expression: exp.DataType) -> str:
        """A type without parameters."""
        kind = expression.args["this"]
        plain = isinstance(kind, exp.DType) and not any(map(expression.args.get, _PARAMETERS))
        return _type_name(kind) if plain else super().datatype_sql(expression)

    def binary(self, expression: exp.Binary, op: str) -> str:
        """An operator between operands of other kinds."""
        left, right = expression.args.get("this"), expression.args.get("expression")
        chained = type(expression) in (type(left), type(right)) or isinstance(expression, exp.Is)
        if chained or expression.args.get("operator"):
            return super().binary(expression, op)
        return f"{self.sql(left)} {op} {self.sql(right)}"


_PARAMETERS = [part for part in exp.DataType.arg_types if part != "this"]


@cache
def _type_name(kind: exp.DType) -> str:
    return PostgresGenerator(dialect=_DIALECT).datatype_sql(exp.DataType(this=kind))


def postgres_sql(tree: exp.Expr, *, pretty: bool = False) -> str:
    """SQL of a tree, which stays as it is; raises rather than drop what the dialect lacks."""
    return PostgresWriter(pretty=pretty).generate(tree, copy=False)
