"""The schema that the policy allows, as statements that create it without rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from psycopg import sql

from planner.policy import ColumnPolicy, Policy
from planner.schema import ForeignKey, Schema, Table
from planner.sql_types import sql_type

_KNOWN_TYPE = re.compile(
    r"(smallint|integer|bigint|real|double precision|numeric|text|uuid|boolean|date|bytea|jsonb?|interval|"
    r"character varying|character|time|timestamp)"
    r"(\(\d+(,-?\d+)?\))?( with(out)? time zone)?"
)


def schema_statements(schema: Schema, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """Statements for an empty database.

    Only tables and columns that a policy lets people query are made, without rows, defaults or checks. `reader` may
    know of them and not read them: a question that is sent here by mistake fails instead of counting nothing.

    Args:
      schema, policy: of the data set.
      reader: the role that catalogs are read as.
    """
    tables = [schema.tables[name] for name in sorted(policy.tables) if name in schema.tables]
    for table in tables:
        yield sql.SQL("CREATE TABLE {} ({})").format(_name(table.name), sql.SQL(", ").join(_definitions(table)))
        yield sql.SQL("GRANT REFERENCES ON {} TO {}").format(_name(table.name), sql.Identifier(reader))
        yield _comment(sql.SQL("TABLE {}").format(_name(table.name)), _words_for(table, policy))
        for column in table.columns:
            words = _words_for_column(policy.column(table.name, column.name), sql_type(column.type).labels)
            if words:
                place = sql.SQL("COLUMN {}.{}").format(_name(table.name), sql.Identifier(column.name))
                yield _comment(place, words)
    names = {table.name: table for table in tables}
    for table in tables:
        for key in table.foreign_keys:
            if key.references in names and key.key in names[key.references].unique_keys:
                yield _foreign_key(table, key)


def _name(table: str) -> sql.Identifier:
    return sql.Identifier("public", table)


def _definitions(table: Table) -> Iterator[sql.Composable]:
    for column in table.columns:
        kind = column.type if _KNOWN_TYPE.fullmatch(column.type) else "text"
        nullable = "" if column.nullable else " NOT NULL"
        # The type is one of a fixed list, so it may be text of the statement.
        yield sql.SQL("{} " + kind + nullable).format(sql.Identifier(column.name))
    for index, key in enumerate(table.unique_keys):
        columns = sql.SQL(", ").join(map(sql.Identifier, key))
        primary = index == 0 and all(_not_null(table, name) for name in key)
        yield sql.SQL("PRIMARY KEY ({})" if primary else "UNIQUE ({})").format(columns)


def _not_null(table: Table, name: str) -> bool:
    column = table.column(name)
    return column is not None and not column.nullable


def _foreign_key(table: Table, key: ForeignKey) -> sql.Composed:
    return sql.SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})").format(
        _name(table.name),
        sql.SQL(", ").join(map(sql.Identifier, key.columns)),
        _name(key.references),
        sql.SQL(", ").join(map(sql.Identifier, key.key)),
    )


def _comment(place: sql.Composable, words: str) -> sql.Composed:
    return sql.SQL("COMMENT ON {} IS {}").format(place, sql.Literal(words))


def _words_for(table: Table, policy: Policy) -> str:
    if policy.is_public(table.name):
        return "public: answered exactly and free"
    unit = " a row of it is a person who is protected;" if table.name in policy.privacy_units else ""
    return f"private:{unit} ask for COUNT, SUM or AVG; answers are noisy and charged"


def _words_for_column(declared: ColumnPolicy, labels: tuple[str, ...]) -> str:
    """What the policy says of a column, and an enum of itself, which analysts may know."""
    words = []
    if declared.range is not None:
        low, high = declared.range
        words.append(f"from {low:g} to {high:g}")
    if declared.dates is not None:
        words.append(f"from {declared.dates[0]} to {declared.dates[1]}")
    if declared.step is not None:
        words.append(f"in steps of {declared.step}")
    values = labels if declared.domain is None else declared.domain
    if values:
        shown = ", ".join(str(value) for value in values[:20])
        more = "" if len(values) <= 20 else f" and {len(values) - 20} more"
        words.append(f"may be grouped by: {shown}{more}")
    return "; ".join(words)
