"""The structure and the version of a DuckDB file or a folder of Parquet files; never a value."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from planner.schema import OF_FILE, PUBLIC, Column, ForeignKey, Schema, Table, View, table_name
from planner.sql.sql_types import READ_IN_PART
from server.backends.backend import FLOATS, literal, with_nan
from server.backends.files import ParquetFiles, TablePatterns, files_version, fold
from server.errors import BackendUnavailable, ConfigurationInvalid

# DuckDB's types in PostgreSQL's words, which the planner uses; other types keep their names.
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

# The table's definition shows whether any column has a collation; the catalog does not show which.
_COLUMNS = """
    SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, contains(upper(t.sql), 'COLLATE')
    FROM duckdb_columns() c
    JOIN duckdb_tables() t USING (database_oid, schema_oid, table_oid)
    WHERE c.database_name = current_database() AND c.schema_name = $namespace AND NOT t.temporary
    ORDER BY c.table_name, c.column_index
"""

# Their text is DuckDB's SQL, in which 5 / 2 is 2.5. It is not parsed, but another text is another view.
_VIEWS = """
    SELECT v.view_name, v.sql, c.column_name, c.data_type
    FROM duckdb_views() v
    JOIN duckdb_columns() c ON c.database_oid = v.database_oid AND c.schema_oid = v.schema_oid
      AND c.table_oid = v.view_oid
    WHERE v.database_name = current_database() AND v.schema_name = $namespace AND NOT v.internal AND NOT v.temporary
    ORDER BY v.view_name, c.column_index
"""

# DuckDB enforces every constraint: none is deferred, partial or unvalidated.
_CONSTRAINTS = """
    SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database() AND schema_name = $namespace
      AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
    ORDER BY table_name, constraint_type, constraint_column_names, referenced_table
"""


def read_duckdb_schema(connection: DuckDBPyConnection, namespace: str = "main") -> Schema:
    """Read the tables and views of one namespace. Only public views can be queried.

    Names become lower case, because DuckDB ignores the case even of quoted names.
    Cost: three catalog queries, a few milliseconds.
    """
    parameters = {"namespace": namespace}
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    for table, name, kind, nullable, collated in connection.execute(_COLUMNS, parameters).fetchall():
        written = _type(kind, collated)
        columns[_name(table)].append(Column(fold(name), written, nullable or written in READ_IN_PART))

    def converted(table: str, names: tuple[str, ...]) -> bool:
        """Whether a key column is converted when it is read, so that two keys may become one."""
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
                    tuple(dict.fromkeys(unique_keys[name])),
                    tuple(foreign_keys[name]),
                    primary_keys.get(name),
                ),
                FLOATS,
            )
            for name, known in columns.items()
        },
        _views(connection, namespace),
    )


def _views(connection: DuckDBPyConnection, namespace: str, *, collated: bool = True) -> dict[str, View]:
    """Read the views. Their expressions may have collations that the catalog does not show."""
    columns: defaultdict[tuple[str, str], list[Column]] = defaultdict(list)
    for view, text, name, kind in connection.execute(_VIEWS, {"namespace": namespace}).fetchall():
        columns[_name(view), text].append(Column(fold(name), _type(kind, collated and kind == "VARCHAR"), True))
    return {
        name: View(with_nan(Table(name, namespace, tuple(known), (), ()), FLOATS), OF_FILE, text)
        for (name, text), known in columns.items()
    }


def _type(kind: str, collated: bool) -> str:
    """A column's type in PostgreSQL's words. A text with a collation gets a type that no key can have."""
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if decimal is not None:
        return f"numeric({decimal[1]},{decimal[2]})"
    if kind == "VARCHAR" and collated:
        return "text with fuzzy collation"
    return f"enum{kind[4:]}" if kind.startswith("ENUM(") else _TYPES.get(kind, kind.lower())


def _name(relation: str) -> str:
    """The canonical name of a table or view; a dot in it separates no schema."""
    return table_name(PUBLIC, fold(relation))


CATALOG = "noisegate_data"
"""The name under which a file is attached."""

_DUCKDB_MARK = b"DUCK"
_PARQUET_MARK = b"PAR1"
_OTHER_MARKS = (
    (b"SQLite format 3", ("a SQLite file", "in DuckDB, ATTACH it and COPY FROM DATABASE into a new file")),
    (_PARQUET_MARK, ("a Parquet file", "name its folder: parquet:///lake")),
    (b"PGDMP", ("a dump of PostgreSQL", "restore it, and name that database: postgresql://...")),
)
"""The first bytes of other file formats, with their names and how to serve them."""


@dataclass(frozen=True)
class DuckdbFile:
    """A DuckDB file.

    Attributes:
      path: never written.
      namespace: the schema with the tables.
    """

    path: Path
    namespace: str = "main"

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Attach the file for reading. Returns: statements that restrict the session to it."""
        connection.execute(f"ATTACH {literal(str(self.path))} AS {CATALOG} (READ_ONLY)")
        return (f"USE {CATALOG}",)

    def schema(self, connection: DuckDBPyConnection) -> Schema:
        """Tables, columns and enforced constraints of the namespace."""
        return read_duckdb_schema(connection, self.namespace)

    def changed_part(self) -> str:
        """The changed part as messages name it."""
        return self.path.name

    def why_not_opened(self) -> tuple[str, str]:
        """The message and the hint for a file that cannot be opened, from its first bytes."""
        try:
            with self.path.open("rb") as file:
                head = file.read(16)
        except OSError:
            return f"{self.path.name} cannot be read", "let the proxy's user read it"
        if head[8:12] == _DUCKDB_MARK:
            hint = "close it in other processes, or write it with this DuckDB version; nothing was charged"
            return f"{self.path.name} is a DuckDB file that cannot be opened", hint
        kind = next((kind for mark, kind in _OTHER_MARKS if head.startswith(mark)), None)
        found = "its format is unknown" if kind is None else f"it is {kind[0]}"
        hint = "duckdb:///shop.duckdb names a file created by DuckDB" + ("" if kind is None else f"; {kind[1]}")
        return f"{self.path.name} is not a DuckDB file: {found}", hint

    def version(self) -> str:
        """A hash of the file's state, with its write-ahead log. Raises: BackendUnavailable."""
        log = self.path.with_name(f"{self.path.name}.wal")
        return files_version({"": [self.path, *([log] if log.exists() else [])]})


@dataclass(frozen=True)
class ParquetFolder(ParquetFiles):
    """A folder of Parquet files, read by DuckDB."""

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Create one view per table over its current files.

        Values in folder names (`year=2024`) are texts.
        Raises: BackendUnavailable for two tables with one name or one file, and for a pattern without a file.
        """
        tables = self.tables()
        for name, found in tables.items():
            listed = ", ".join(literal(str(file)) for file in found.files)
            hive = "true, hive_types_autocast = false" if found.columns else "false"
            connection.execute(
                f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet([{listed}], hive_partitioning = {hive})'
            )
        every = ", ".join(literal(str(file)) for found in tables.values() for file in found.files)
        return (f"SET allowed_paths = [{every}]",)

    def why_not_opened(self) -> tuple[str, str]:
        """The message and the hint for the first file that is not Parquet."""
        for name, table in self.tables().items():
            for file in table.files:
                try:
                    with file.open("rb") as opened:
                        head = opened.read(4)
                        opened.seek(-min(4, file.stat().st_size), 2)
                        tail = opened.read(4)
                except OSError:
                    return f"{file.name} of {name} cannot be read", "let the proxy's user read it"
                if {head, tail} != {_PARQUET_MARK}:
                    hint = "write it again, or move it out of the folder until it is complete"
                    return f"{file.name} of {name} is not a complete Parquet file", hint
        return "a file of the folder cannot be opened", "write all files of a table with the same columns"

    def check_files(self, connection: DuckDBPyConnection) -> None:
        """Refuse a table whose files differ in their columns, because some values would make questions fail.

        Raises: ConfigurationInvalid; BackendUnavailable for a file that is not Parquet.
        Cost: reads the head of every file.
        """
        for name, table in self.tables().items():
            known = None
            for file in table.files:
                read = f"DESCRIBE SELECT * FROM read_parquet({literal(str(file))}, hive_partitioning = false)"
                try:
                    found = [(str(column[0]), str(column[1])) for column in connection.execute(read).fetchall()]
                except duckdb.Error as error:
                    message, hint = self.why_not_opened()
                    raise BackendUnavailable(message, hint=hint) from error
                if known is not None and found != known:
                    hint = "write all files of a table with the same columns, in one order and of the same types"
                    raise ConfigurationInvalid(
                        f"{file.name} of {name} has other columns than {table.files[0].name}", hint=hint
                    )
                known = found
            twice = {fold(column) for column, _ in known or ()} & set(map(fold, table.columns))
            if twice:
                hint = "remove the column from the files, or from the names of their folders"
                both = ", ".join(sorted(twice))
                raise ConfigurationInvalid(f"{name} has {both} both in its files and as a folder's name", hint=hint)

    def schema(self, connection: DuckDBPyConnection) -> Schema:
        """The structure: no constraints, and every value may be NULL."""
        return Schema({name: view.table for name, view in _views(connection, "main", collated=False).items()})


DataFiles = DuckdbFile | ParquetFolder


def data_files(path: Path, namespace: str = "main", patterns: TablePatterns = ()) -> DataFiles:
    """The file or folder at a path."""
    return ParquetFolder(path, patterns) if path.is_dir() else DuckdbFile(path, namespace)
