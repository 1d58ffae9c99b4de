"""Read the structure of a DuckDB database: tables, columns, enforced constraints. Never a value or a statistic."""

from __future__ import annotations

import re
from collections import defaultdict

from duckdb import DuckDBPyConnection

from planner.schema import PUBLIC, Column, ForeignKey, Schema, Table, View, table_name
from planner.sql.sql_types import READ_IN_PART
from server.backends.nan_columns import FLOATS, with_nan
from server.backends.parquet.folder import fold

# Types in PostgreSQL's words, which the planner speaks; others stay as they are.
_TYPES = {
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "SMALLINT": "smallint",
    "USMALLINT": "integer",
    "INTEGER": "integer",
    "UINTEGER": "bigint",
    "BIGINT": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp without time zone",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
    "UUID": "uuid",
    "TIME": "time without time zone",
}

# The text of a table's definition tells whether any of its columns has a collation; the catalog does not say which.
_COLUMNS = """
    SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, contains(upper(t.sql), 'COLLATE')
    FROM duckdb_columns() c
    JOIN duckdb_tables() t USING (database_oid, schema_oid, table_oid)
    WHERE c.database_name = current_database() AND c.schema_name = $namespace AND NOT t.temporary
    ORDER BY c.table_name, c.column_index
"""

# Their text is DuckDB's SQL, in which 5 / 2 is 2.5: it is not read, but a view with another text is another view.
_VIEWS = """
    SELECT v.view_name, v.sql, c.column_name, c.data_type, c.is_nullable
    FROM duckdb_views() v
    JOIN duckdb_columns() c ON c.database_oid = v.database_oid AND c.schema_oid = v.schema_oid
      AND c.table_oid = v.view_oid
    WHERE v.database_name = current_database() AND v.schema_name = $namespace AND NOT v.internal AND NOT v.temporary
    ORDER BY v.view_name, c.column_index
"""

# DuckDB has no constraint that it does not enforce: none is deferred, partial or unvalidated.
_CONSTRAINTS = """
    SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database() AND schema_name = $namespace
      AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
    ORDER BY table_name, constraint_type, constraint_column_names, referenced_table
"""


def read_duckdb_schema(connection: DuckDBPyConnection, namespace: str = "main") -> Schema:
    """The tables of one namespace, and its views, which only a policy that declares them public lets anybody ask.

    Names are folded to lower case, since DuckDB compares them without regard to case even when they are quoted.
    Cost: three catalog queries, a few milliseconds.
    """
    parameters = {"namespace": namespace}
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    for table, name, kind, nullable, collated in connection.execute(_COLUMNS, parameters).fetchall():
        written = _type(kind, collated)
        columns[_name(table)].append(Column(fold(name), written, nullable or written in READ_IN_PART))

    def converted(table: str, names: tuple[str, ...]) -> bool:
        """Is a value of the key not read as it is, so that two keys may be one?"""
        return any(column.name in names and column.type in READ_IN_PART for column in columns[table])

    unique_keys: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    primary_keys: dict[str, tuple[str, ...]] = {}
    foreign_keys: defaultdict[str, list[ForeignKey]] = defaultdict(list)
    for table, kind, names, references, key in connection.execute(_CONSTRAINTS, parameters).fetchall():
        folded = tuple(map(fold, names))
        if kind == "FOREIGN KEY":
            foreign_keys[_name(table)].append(ForeignKey(folded, _name(references), tuple(map(fold, key))))
        elif not converted(_name(table), folded):
            unique_keys[_name(table)].append(folded)
            if kind == "PRIMARY KEY":
                primary_keys[_name(table)] = folded
    return Schema(
        {
            name: with_nan(
                Table(
                    name,
                    namespace,
                    tuple(known),
                    tuple(unique_keys[name]),
                    tuple(foreign_keys[name]),
                    primary_keys.get(name),
                ),
                FLOATS,
            )
            for name, known in columns.items()
        },
        _views(connection, namespace),
    )


def read_view_tables(connection: DuckDBPyConnection) -> Schema:
    """The views of an instance of its own, as tables without constraints.

    Cost: one catalog query, a few milliseconds.
    """
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    for view, _, name, kind, _ in connection.execute(_VIEWS, {"namespace": "main"}).fetchall():
        columns[_name(view)].append(Column(fold(name), _type(kind, False), True))
    tables = {name: Table(name, "main", tuple(known), (), ()) for name, known in columns.items()}
    return Schema({name: with_nan(table, FLOATS) for name, table in tables.items()})


def _views(connection: DuckDBPyConnection, namespace: str) -> dict[str, View]:
    columns: defaultdict[tuple[str, str], list[Column]] = defaultdict(list)
    for view, text, name, kind, nullable in connection.execute(_VIEWS, {"namespace": namespace}).fetchall():
        # Expressions of a view may have collations that the catalog does not say.
        columns[_name(view), text].append(Column(fold(name), _type(kind, kind == "VARCHAR"), nullable))
    return {
        name: View(with_nan(Table(name, namespace, tuple(known), (), ()), FLOATS), "view of DuckDB", text)
        for (name, text), known in columns.items()
    }


def _type(kind: str, collated: bool) -> str:
    """A column's type in PostgreSQL's words; one that no key can have where strings may be equal by collation."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if decimal is not None:
        return f"numeric({decimal[1]},{decimal[2]})"
    if kind == "VARCHAR" and collated:
        return "text with fuzzy collation"
    return f"enum{kind[4:]}" if kind.startswith("ENUM(") else _TYPES.get(kind, kind.lower())


def _name(relation: str) -> str:
    """The canonical name of a table or view, which there is one schema of: `a.b` is no table b of a schema a."""
    return table_name(PUBLIC, fold(relation))
