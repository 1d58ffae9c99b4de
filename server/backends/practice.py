"""The practice database: a DuckDB file of drawn rows, and how a worker reads it instead of the private tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import duckdb

from planner.errors import UnsupportedSQL
from planner.plan import BackendQuery, Plan
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.rewriting.dialects.mirror import folded, mirror_type
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, Dialect, Schema, Table
from planner.sql.sql_types import Family, sql_type
from server.backends.backend import Backend, Source, quoted
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.practice_rows import Rows
from server.backends.public_rows import Computed
from server.backends.public_rows import Rows as PublicRows
from server.backends.query_tuples import QueryTuples


@dataclass(frozen=True)
class PublicOnly:
    """The database without its private rows: public tables, and SQL around answers. No private row can be read."""

    database: Backend

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect of its statements."""
        return self.database.dialect

    def check_schema(self, fingerprint: str) -> None:
        """Nothing to check: the practice rows were drawn from this schema."""

    def domain(self, query: BackendQuery) -> Domain:
        """Read only the public groups. Raises: as `Backend.domain`."""
        return self.database.domain(query)

    def public(self, statement: PublicStatement) -> PublicRows:
        """Run a statement over public tables. Raises: as `Backend.public`."""
        return self.database.public(statement)

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """Run SQL around answers. Raises: as `Backend.compute`."""
        return self.database.compute(statement, rows=rows)

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """Refuse: practice reads no private row."""
        raise AssertionError("practice reads no private row")


@dataclass(frozen=True)
class PracticeBackend(DuckdbBackend):
    """Reads the practice file, which has the tables of one schema.

    Attributes:
      planned: the fingerprint of that schema.
      question: the question that it reads, in DuckDB's dialect.
    """

    planned: str = ""
    question: BackendQuery | None = None

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """Read the drawn rows of its question, whose plan `query` shares. Raises: as `Backend.read`."""
        assert self.question is not None, "`PracticeCopy.source` names it"
        return super().read(self.question)

    def _fingerprint(self, connection: duckdb.DuckDBPyConnection) -> str:
        return self.planned


@dataclass(frozen=True)
class PracticeCopy:
    """Takes the place of a mirror, for every question.

    Attributes:
      schema: of the database, from which plans are made.
    """

    copy: PracticeBackend
    schema: Schema

    @cached_property
    def _typed(self) -> dict[str, Table]:
        return {name: practised(table) for name, table in self.schema.tables.items()}

    def query(self, plan: Plan, schema: Schema) -> BackendQuery:
        """Rewrite a question for the practice file.

        Args:
          schema: of the plan, which may have tables of released values.
        Raises: UnsupportedSQL for a question that only the database itself can answer.
        """
        try:
            return rewrite(plan, dialect="practice", schema=replace(schema, tables={**schema.tables, **self._typed}))
        except UnsupportedSQL as error:
            hint = "the question is supported: ask it of the database itself"
            raise UnsupportedSQL(f"the practice database cannot answer it: {error.message}", hint=hint) from error

    def source(self, plan: Plan, query: BackendQuery | None, data_version: int, database: Backend) -> Source:
        """The practice file: never the database. `query`: as of `query`."""
        return replace(self.copy, question=query)


def practised(table: Table) -> Table:
    """The table as the practice file holds it: numbers without digits get some, and char(n) is text."""
    return replace(table, columns=tuple(replace(one, type=_type(one)) for one in table.columns))


def _type(column: Column) -> str:
    kind = sql_type(column.type)
    if kind.family is Family.CHAR:
        return "text"
    if kind.family is Family.NUMERIC and mirror_type(column.type) is None:
        return "numeric(18,4)"
    return column.type


def write_practice(path: Path, schema: Schema, rows: Mapping[str, Rows]) -> None:
    """Write the rows of all tables into a new file. A name that DuckDB confuses with an earlier one is left out."""
    written = set[tuple[str, str]]()
    with duckdb.connect(path) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.begin()
        for name, drawn in rows.items():
            table = practised(schema.tables[name])
            place = folded(table.namespace), folded(table.relation)
            if place in written or not table.columns:
                continue
            written.add(place)
            columns = {folded(column.name): column for column in reversed(table.columns)}
            kept = [column for column in table.columns if columns[folded(column.name)] is column]
            values = (f"{_cast(f'c{number}', column)} AS {quoted(column.name)}" for number, column in enumerate(kept))
            cells = (f"unnest(CAST(${number} AS VARCHAR[])) AS c{number - 1}" for number in range(1, len(kept) + 1))
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.namespace)}")
            relation = f"{quoted(table.namespace)}.{quoted(table.relation)}"
            connection.execute(
                f"CREATE TABLE {relation} AS SELECT {', '.join(values)} FROM (SELECT {', '.join(cells)})",
                [drawn.columns[column.name].tolist() for column in kept],
            )
        connection.commit()


def _cast(name: str, column: Column) -> str:
    """SQL of a text as a value of the column; texts for types that DuckDB lacks."""
    kind = sql_type(column.type)
    if kind.family is Family.UUID:  # drawn ones are words
        return f"coalesce(TRY_CAST({name} AS UUID), CAST(md5({name}) AS UUID))"
    to = "TIME" if kind.family is Family.TIME else mirror_type(column.type)
    return f"TRY_CAST({name} AS {to or 'VARCHAR'})"
