"""A random world in a database: its rows as they are, and cleaned by the rules that the proxy documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, Protocol

from tests.property.sja_world import NAMESPACE, Row, Rows, Shape, Value

CLEAN = "clean"
"""The schema of the cleaned rows."""


class Cursor(Protocol):
    """What psycopg's and DuckDB's results share."""

    def fetchall(self) -> list[tuple[Any, ...]]: ...


class Connection(Protocol):
    """What psycopg's and DuckDB's connections share."""

    def execute(self, query: Any, /) -> Cursor: ...


@dataclass(frozen=True)
class Engine:
    """One of the two databases, with one connection for all examples."""

    dialect: Literal["postgres", "duckdb"]
    connection: Connection

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""
        return self.connection.execute(self._text(statement)).fetchall()

    @contextmanager
    def holding(self, rows: Rows, *, clean: bool = True) -> Iterator[None]:
        """The tables for a while, in a transaction that is rolled back."""
        self.connection.execute(self._text("BEGIN"))
        try:
            for statement in _statements(rows, clean=clean):
                self.connection.execute(self._text(statement))
            yield
        finally:
            self.connection.execute(self._text("ROLLBACK"))

    def _text(self, statement: str) -> str | bytes:
        return statement if self.dialect == "duckdb" else statement.encode()


def _statements(rows: Rows, *, clean: bool) -> Iterator[str]:
    yield f"CREATE SCHEMA {NAMESPACE}"
    for shape in rows.world.shapes:
        columns = shape.columns
        held = [[row[name] for name in columns] for row in rows.tables[shape.name]]
        yield from _table(f"{NAMESPACE}.{shape.name}", columns, held)
    if clean:
        yield f"CREATE SCHEMA {CLEAN}"
        for shape in rows.world.shapes:
            held = [_cleaned(rows, shape, row) for row in rows.tables[shape.name] if rows.stands(shape.name, row)]
            extra = {f"{name}_clamped": shape.columns[name] for name in shape.ranges}
            yield from _table(f"{CLEAN}.{shape.name}", shape.columns | extra | {"owned": "boolean"}, held)


def _cleaned(rows: Rows, shape: Shape, row: Row) -> list[Value]:
    clamped = [shape.clamped(name, row[name]) for name in shape.ranges]
    return [*(row[name] for name in shape.columns), *clamped, bool(rows.owners(shape.name, row))]


def _table(name: str, columns: dict[str, str], rows: list[list[Value]]) -> Iterator[str]:
    yield f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"
    if rows:
        yield f"INSERT INTO {name} VALUES {', '.join(f'({chr(44).join(map(literal, row))})' for row in rows)}"


def literal(value: Value) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str | date):
        return "'" + str(value).replace("'", "''") + "'"
    return f"CAST('{value!r}' AS double precision)" if isinstance(value, float) else str(value)
