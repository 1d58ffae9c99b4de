"""The schema that the policy allows, as statements that create it without rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from psycopg import sql

from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import PUBLIC, Column, ForeignKey, Schema, Table, name_parts
from planner.sql.sql_types import sql_type
from planner.views.examine import ShownView, shown_views

_KNOWN_TYPE = re.compile(
    r"(smallint|integer|bigint|real|double precision|numeric|text|uuid|boolean|date|bytea|jsonb?|interval|"
    r"character varying|character|time|timestamp)"
    r"(\(\d+(,-?\d+)?\))?( with(out)? time zone)?"
)

_PUBLIC = "public: answered exactly and free"
_PRIVATE = "private:{} ask for COUNT, SUM or AVG; answers are noisy and charged"
_ANSWER = "private: an answer of its own; SELECT its rows, which are noisy and charged"


_REFUSES = "noisegate_refuses"


def schema_statements(schema: Schema, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """Statements for an empty database.

    Only tables, views and columns that a policy lets people query are made, without rows, defaults or checks.
    `reader` has the right to SELECT from tables and views, which tools look for before they show one, and yet reads
    none of them: a question that is sent here by mistake fails instead of counting nothing.

    Args:
      schema, policy: of the data set.
      reader: the role that catalogs are read as.
    """
    tables = [schema.tables[name] for name in sorted(policy.tables) if name in schema.tables]
    views = shown_views(schema, policy)
    shown = [table.name for table in tables] + [view.name for view in views]
    for namespace in sorted({name_parts(name)[0] for name in shown} - {PUBLIC}):
        yield sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(namespace))
        yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(namespace), sql.Identifier(reader))
    for table in tables:
        yield sql.SQL("CREATE TABLE {} ({})").format(_name(table.name), sql.SQL(", ").join(_definitions(table)))
        yield from _shown_and_not_read(table.name, reader, public=policy.is_public(table.name))
        yield _comment(sql.SQL("TABLE {}").format(_name(table.name)), _words_for(table, policy))
        for column in table.columns:
            words = _words_for_column(policy.column(table.name, column.name), sql_type(column.type).labels)
            if words:
                place = sql.SQL("COLUMN {}.{}").format(_name(table.name), sql.Identifier(column.name))
                yield _comment(place, words)
    names = {table.name: table for table in tables}
    for table in tables:
        for key in table.foreign_keys:
            if key.references in names and key.key in names[key.references].keys:
                yield _foreign_key(table, key)
    for view in views:
        yield from _view(view, policy, reader)


def _view(view: ShownView, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """A view whose columns have the names and types of the real one's, with the right to SELECT; reading it fails.

    The view is all its condition refuses by: no table is behind it on which a row policy could stand. Every condition
    is worked out where a statement is planned, each by itself, so what stands around the view cannot save it.
    """
    columns = [
        sql.SQL("NULL::" + _known_type(shown.column) + " AS {}").format(sql.Identifier(shown.column.name))
        for shown in view.columns
    ]
    named, shown_columns = _name(view.name), sql.SQL(", ").join(columns)
    yield sql.SQL("CREATE VIEW {} AS SELECT {} WHERE {}").format(named, shown_columns, _refusal(view.name))
    yield _granted(view.name, reader)
    yield _comment(sql.SQL("VIEW {}").format(_name(view.name)), _words_for_view(view))
    for shown in view.columns:
        declared = policy.column(*shown.base or ("", ""))
        words = _words_for_column(declared, sql_type(shown.column.type).labels)
        if words:
            place = sql.SQL("COLUMN {}.{}").format(_name(view.name), sql.Identifier(shown.column.name))
            yield _comment(place, words)


def refusing_function() -> sql.SQL:
    """The function by which reading is refused: immutable, so that planning a statement that reads calls it."""
    return sql.SQL(
        f"CREATE FUNCTION pg_catalog.{_REFUSES}(name text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'permission denied for table ' || name; END $$"
    )


def _shown_and_not_read(table: str, reader: str, *, public: bool) -> Iterator[sql.Composed]:
    """The right to SELECT, and a row policy that refuses every statement that would; psql's \\d shows its name."""
    yield _granted(table, reader)
    yield sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(_name(table))
    name = sql.Identifier("rows_are_public" if public else "rows_are_not_shown")
    yield sql.SQL("CREATE POLICY {} ON {} USING ({})").format(name, _name(table), _refusal(table))


def _granted(relation: str, reader: str) -> sql.Composed:
    return sql.SQL("GRANT SELECT, REFERENCES ON {} TO {}").format(_name(relation), sql.Identifier(reader))


def _refusal(relation: str) -> sql.Composed:
    return sql.SQL("pg_catalog.{}({})").format(sql.SQL(_REFUSES), sql.Literal(relation))


def _name(table: str) -> sql.Identifier:
    return sql.Identifier(*name_parts(table))


def _definitions(table: Table) -> Iterator[sql.Composable]:
    for column in table.columns:
        kind = _known_type(column)
        nullable = "" if column.nullable else " NOT NULL"
        # The type is one of a fixed list, so it may be text of the statement.
        yield sql.SQL("{} " + kind + nullable).format(sql.Identifier(column.name))
    for key in table.keys:
        columns = sql.SQL(", ").join(map(sql.Identifier, key))
        yield sql.SQL("PRIMARY KEY ({})" if key == table.primary_key else "UNIQUE ({})").format(columns)


def _known_type(column: Column) -> str:
    """A type that every PostgreSQL has."""
    return column.type if _KNOWN_TYPE.fullmatch(column.type) else "text"


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
        return _PUBLIC
    return _PRIVATE.format(" a row of it is a person who is protected;" if table.name in policy.privacy_units else "")


def _words_for_view(view: ShownView) -> str:
    if view.public:
        return _PUBLIC
    return _ANSWER if view.answers else _PRIVATE.format("")


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
