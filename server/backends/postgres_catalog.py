"""Read PostgreSQL's structure: tables, columns and constraints. Never a value, never a statistic."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import psycopg

from planner.schema import PUBLIC, Column, ForeignKey, Schema, Table, View, sql_identifier, table_name
from server.backends.backend import NUMBERS, with_nan

# Plain and partitioned tables, and views and foreign tables of which the role may read every column. A partition
# belongs to its parent.
# A table with inheritance children is omitted: its keys are not enforced over the children.
# A virtual column is omitted: it is computed when read, and may fail for some row.
# A text with a collation of its own gets a separate type, which cannot be a key and is not compared: two
# collations in one comparison fail at run time, and one may treat different texts as equal.
# An enum is identified by its labels; a new label is another structure.
# Since PostgreSQL 18 a column may be NOT NULL though some old rows are NULL.
# Only column constraints show whether a column may hold NaN; those of foreign tables are not enforced. They are read
# once, because pg_get_expr() waits for locks on the table.
# A domain counts as its base type, whose operators apply; its checks apply only when a value is written.
_COLUMNS = """
    WITH RECURSIVE domains AS (
      SELECT oid AS domain, typbasetype AS base, typtypmod AS modifier FROM pg_type WHERE typtype = 'd'
      UNION ALL
      SELECT d.domain, t.typbasetype, t.typtypmod
      FROM domains d JOIN pg_type t ON t.oid = d.base WHERE t.typtype = 'd'
    )
    SELECT n.nspname, c.relname, a.attname,
           coalesce(
             (SELECT 'enum(' || string_agg('''' || replace(e.enumlabel, '''', '''''') || '''', ', '
                                          ORDER BY e.enumsortorder) || ')'
              FROM pg_enum e WHERE e.enumtypid = t.oid),
             format_type(t.oid, coalesce(d.modifier, a.atttypmod)))
             || CASE WHEN a.attcollation <> t.typcollation THEN ' with collation ' || l.collname ELSE '' END,
           NOT a.attnotnull OR EXISTS (
             SELECT FROM pg_constraint k
             WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY (k.conkey)),
           CASE WHEN %(checks)s THEN array(
             SELECT pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
             WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated AND NOT k.connoinherit
               AND k.conkey = ARRAY[a.attnum] AND c.relkind IN ('r', 'p')) END,
           CASE WHEN t.typtype = 'e' THEN (SELECT ARRAY[s.nspname::text, t.typname::text]
                                           FROM pg_namespace s WHERE s.oid = t.typnamespace) END
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
    LEFT JOIN domains d ON d.domain = a.atttypid
      AND NOT EXISTS (SELECT FROM pg_type b WHERE b.oid = d.base AND b.typtype = 'd')
    JOIN pg_type t ON t.oid = coalesce(d.base, a.atttypid)
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE n.nspname = ANY (%(namespaces)s) AND NOT c.relispartition
      AND (c.relkind = 'p' OR (c.relkind = 'r' AND NOT EXISTS
            (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid))
        OR (c.relkind IN ('v', 'm', 'f') AND has_table_privilege(c.oid, 'SELECT')))
      AND has_column_privilege(c.oid, a.attnum, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
    ORDER BY n.nspname, c.relname, a.attnum
"""

# The unique keys that always hold: no partial, deferrable or invalid index, and none on expressions.
_UNIQUE_KEYS = """
    SELECT n.nspname, c.relname, i.indisprimary,
           array(SELECT a.attname::text FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY k(num, ord)
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num ORDER BY k.ord)
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%(namespaces)s) AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
    ORDER BY n.nspname, c.relname, i.indisprimary DESC, 4
"""

# All declared ones, enforced or not, because ownership does not depend on enforcement. One that
# only a partition has counts for its parent; one may lead to a schema that is not read. It is proven if a constraint
# of the whole table was validated for every row, and none of its triggers is disabled, for example in a partition.
_FOREIGN_KEYS = """
    SELECT namespace, relation, columns, other_namespace, other, key,
           bool_or(whole AND convalidated) AND NOT bool_or(switched_off) AS proven
    FROM (
      SELECT n.nspname AS namespace, c.relname AS relation,
             array(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(num, ord)
                   JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num ORDER BY u.ord) AS columns,
             rn.nspname AS other_namespace, r.relname AS other,
             array(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(num, ord)
                   JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num ORDER BY u.ord) AS key,
             c.oid = k.conrelid AS whole, k.convalidated,
             EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A'))
               AS switched_off
      FROM pg_constraint k
      JOIN pg_class c ON c.oid = coalesce(pg_partition_root(k.conrelid), k.conrelid)
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_class r ON r.oid = coalesce(pg_partition_root(k.confrelid), k.confrelid)
      JOIN pg_namespace rn ON rn.oid = r.relnamespace
      WHERE n.nspname = ANY (%(namespaces)s) AND k.contype = 'f'
    ) constraints
    GROUP BY 1, 2, 3, 4, 5, 6
    ORDER BY 1, 2, 3, 4, 5, 6
"""

# All relations, because an unqualified name means the first one on the search path.
_NAMES = """
    SELECT n.nspname, c.relname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%(namespaces)s) AND has_schema_privilege(n.oid, 'USAGE')
    ORDER BY 1, 2
"""

# Schemas with tables or views, without PostgreSQL's own.
_NAMESPACES = """
    SELECT n.nspname FROM pg_namespace n
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f'))
    ORDER BY n.nspname <> 'public', n.nspname
"""

# Views and foreign tables, with the relations that they name. Definitions are PostgreSQL's own text under a
# search path without our schemas: every name has its schema, and one without is PostgreSQL's own.
_VIEWS = """
    SELECT n.nspname, c.relname,
           CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END,
           CASE WHEN c.relkind <> 'f' THEN pg_get_viewdef(c.oid) END,
           array(SELECT DISTINCT ARRAY[rn.nspname::text, r.relname::text]
                 FROM pg_rewrite w
                 JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                   AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> c.oid
                 JOIN pg_class r ON r.oid = d.refobjid
                 JOIN pg_namespace rn ON rn.oid = r.relnamespace
                 WHERE w.ev_class = c.oid ORDER BY 1)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%(namespaces)s) AND c.relkind IN ('v', 'm', 'f') AND NOT c.relispartition
      AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname
"""


def read_namespaces(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """The schemas that hold tables or views, without PostgreSQL's own: `public` first, then by name."""
    return tuple(name for (name,) in connection.execute(_NAMESPACES))


def read_schema(
    connection: psycopg.Connection[Any], namespaces: Sequence[str] = (PUBLIC,), *, checks: bool = True
) -> Schema:
    """Read the tables and views of some schemas that the connected role may read.

    Column types that the planner does not know keep their names, and the planner refuses to compare them.

    Args:
      namespaces: the schemas to read, usually `Policy.namespaces`; others do not change the fingerprint.
      checks: read the constraints that exclude NaN; they are not part of the fingerprint.
    Cost: four catalog queries, about 5 ms for ten tables, and 0.2 ms per view; one more query for several schemas.
    """
    parameters: dict[str, Any] = {"namespaces": list(namespaces), "checks": checks}
    places: dict[str, str] = {}
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    without_nan: defaultdict[str, set[str]] = defaultdict(set)
    for namespace, relation, name, kind, nullable, said, enum in connection.execute(_COLUMNS, parameters):
        table = table_name(namespace, relation)
        places[table] = namespace
        columns[table].append(Column(name, kind, nullable, type_name="" if enum is None else table_name(*enum)))
        if any(_keeps_nan_out(check, name) for check in said or ()):
            without_nan[table].add(name)
    unique_keys: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    primary_keys: dict[str, tuple[str, ...]] = {}
    for namespace, relation, primary, key in connection.execute(_UNIQUE_KEYS, parameters):
        table = table_name(namespace, relation)
        unique_keys[table].append(tuple(key))
        if primary:
            primary_keys[table] = tuple(key)
    foreign_keys: defaultdict[str, list[ForeignKey]] = defaultdict(list)
    unproven_keys: defaultdict[str, list[ForeignKey]] = defaultdict(list)
    for namespace, relation, referencing, *references, key, proven in connection.execute(_FOREIGN_KEYS, parameters):
        foreign_key = ForeignKey(tuple(referencing), table_name(*references), tuple(key))
        foreign_keys[table_name(namespace, relation)].append(foreign_key)
        if not proven:
            unproven_keys[table_name(namespace, relation)].append(foreign_key)
    tables = {}
    for name, known in columns.items():
        readable = _readable(unique_keys[name], known)
        primary_key = primary_keys.get(name)
        shown = primary_key if primary_key in readable else None
        table_read = Table(
            name,
            places[name],
            tuple(known),
            readable,
            tuple(foreign_keys[name]),
            shown,
            unproven_keys=tuple(unproven_keys[name]),
        )
        tables[name] = with_nan(table_read, NUMBERS, without_nan[name])
    views = {}
    for namespace, relation, kind, definition, reads in _views(connection, parameters):
        name = table_name(namespace, relation)
        if name in tables:
            views[name] = View(tables.pop(name), kind, definition, tuple(sorted(table_name(*read) for read in reads)))
    hidden: frozenset[str] = frozenset()
    if len(namespaces) > 1:
        named = frozenset(table_name(*place) for place in connection.execute(_NAMES, parameters))
        hidden = named - tables.keys() - views.keys()
    return Schema(tables, views, hidden, connection.info.dbname)


def _views(connection: psycopg.Connection[Any], parameters: dict[str, list[str]]) -> list[tuple[Any, ...]]:
    """The views, with definitions that qualify every name outside of pg_catalog."""
    found = connection.execute(_VIEWS, parameters).fetchall()
    before = connection.execute("SELECT current_setting('search_path')").fetchone() if found else None
    if before is None or before[0] == "pg_catalog":
        return found
    connection.execute("SELECT set_config('search_path', 'pg_catalog', false)")
    try:
        return connection.execute(_VIEWS, parameters).fetchall()
    finally:
        connection.execute("SELECT set_config('search_path', %s, false)", before)


def _keeps_nan_out(check: str, column: str) -> bool:
    """Whether a column constraint, in PostgreSQL's spelling, is false for NaN, the greatest number.

    >>> _keeps_nan_out("((cost >= (0)::numeric) AND (cost <= (100)::numeric))", "cost")
    True
    >>> [_keeps_nan_out(check, "f") for check in ("(f > '0'::double precision)", "((f < 1) OR (f > 2))")]
    [False, False]
    """
    if re.search(r"\b(OR|NOT|CASE|IS)\b", check):
        return False
    name = re.escape(sql_identifier(column))
    itself = rf"(?:\({name}\)::double precision|{name})"
    number = r"\(?'?-?(?:[\d.]+(?:e[+-]?\d+)?|Infinity)'?\)?(?:::[a-z ]+)?"
    bounded = re.compile(rf"\(*{itself} (?:(?:<|<=|=) {number}|<> 'NaN'::[a-z ]+)\)*")
    return any(bounded.fullmatch(part) for part in check.split(" AND "))


def _readable(keys: list[tuple[str, ...]], columns: list[Column]) -> tuple[tuple[str, ...], ...]:
    """The keys of which the role may read every column, each once, as several indexes may enforce one.

    SQL cannot use the others, so they prove nothing.
    """
    names = {column.name for column in columns}
    return tuple(dict.fromkeys(key for key in keys if names.issuperset(key)))
