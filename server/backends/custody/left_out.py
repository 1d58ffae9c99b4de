"""What a database holds beside the tables that can be asked, and why it cannot: for who drafts a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from planner.schema import sql_identifier, sql_name, table_name

_FEW = 8

# A partition is told with its root: there may be thousands.
_RELATIONS = """
    SELECT n.nspname, c.relname, c.relkind::text, has_schema_privilege(n.oid, 'USAGE'),
           has_table_privilege(c.oid, 'SELECT'), has_any_column_privilege(c.oid, 'SELECT'),
           array(SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                   AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum),
           EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%(namespaces)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    ORDER BY 1, 2
"""

# What the role may not read of the tables behind each view, through others: whole tables, and columns.
_BEHIND = """
    WITH RECURSIVE uses AS (
      SELECT w.ev_class AS view, d.refobjid AS relation, d.refobjsubid AS place
      FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> w.ev_class
    ), behind AS (
      SELECT u.view, u.relation, u.place
      FROM uses u JOIN pg_class c ON c.oid = u.view JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ANY (%(namespaces)s) AND c.relkind = 'v' AND has_table_privilege(c.oid, 'SELECT')
        AND has_schema_privilege(n.oid, 'USAGE')
      UNION
      SELECT b.view, u.relation, u.place FROM behind b JOIN uses u ON u.view = b.relation
    )
    SELECT DISTINCT vn.nspname, v.relname, rn.nspname, r.relname,
           CASE WHEN has_schema_privilege(rn.oid, 'USAGE') AND has_any_column_privilege(r.oid, 'SELECT')
                THEN a.attname::text END AS "column"
    FROM behind b
    JOIN pg_class v ON v.oid = b.view JOIN pg_namespace vn ON vn.oid = v.relnamespace
    JOIN pg_class r ON r.oid = b.relation AND r.relkind IN ('r', 'p', 'm', 'f')
    JOIN pg_namespace rn ON rn.oid = r.relnamespace
    JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = b.place AND a.attnum > 0
    WHERE NOT (has_schema_privilege(rn.oid, 'USAGE') AND has_column_privilege(r.oid, a.attnum, 'SELECT'))
    ORDER BY 1, 2, 3, 4, 5
"""
_PARTITIONS = """
    SELECT n.nspname, c.relname, rn.nspname, r.relname
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class r ON r.oid = pg_partition_root(c.oid)
    JOIN pg_namespace rn ON rn.oid = r.relnamespace
    WHERE n.nspname = ANY (%(namespaces)s) AND c.relispartition AND c.relkind IN ('r', 'p', 'f')
    ORDER BY 3, 4, 1, 2
"""


def read_left_out(connection: psycopg.Connection[Any], namespaces: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The canonical name of each table, view or whole schema that `read_schema` leaves out, or shows a part of, or
    that cannot be asked for what it reads; and the reason in words.

    Cost: three catalog queries.
    """
    parameters = {"namespaces": list(namespaces)}
    found: dict[str, str] = {}
    (role,) = connection.execute("SELECT current_user").fetchone() or ("",)
    to_role = f"TO {_shown(sql_identifier(role))};"
    for namespace, relation, kind, usable, *rights, inherited in connection.execute(_RELATIONS, parameters):
        name = table_name(namespace, relation)
        if not usable:
            schema = _shown(sql_identifier(namespace))
            found[table_name(namespace, "*")] = (
                "the role has no USAGE of the schema; if it is to be asked: "
                f"GRANT USAGE ON SCHEMA {schema} {to_role} GRANT SELECT ON ALL TABLES IN SCHEMA {schema} {to_role}"
            )
        elif (
            reason := _unreadable(f"GRANT SELECT ON {_shown(sql_name(name))} {to_role}", kind, *rights)
        ) is not None:
            found[name] = reason
        elif inherited and kind == "r":
            found[name] = "other tables inherit from it, whose rows its keys do not cover"
    behind: dict[str, list[str]] = {}
    for view_schema, view, namespace, relation, column in connection.execute(_BEHIND, parameters):
        read = sql_name(table_name(namespace, relation))
        read = read if column is None else f"{read}.{sql_identifier(column)}"
        behind.setdefault(table_name(view_schema, view), []).append(_shown(read))
    for view, hidden in behind.items():
        found[view] = f"it reads {_some(hidden)}, which the role may not SELECT, so nothing of it can be asked"
    partitions: dict[str, list[str]] = {}
    for namespace, relation, *root in connection.execute(_PARTITIONS, parameters):
        partitions.setdefault(table_name(*root), []).append(table_name(namespace, relation))
    for root, names in partitions.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found[names[0]] = f"a partition{more}: read through {_shown(sql_name(root))}"
    return tuple(sorted(found.items()))


def _unreadable(grant: str, kind: str, whole: bool, part: bool, columns: Sequence[str]) -> str | None:
    """What the role may not read of a relation, and the statement that lets it; None where that is nothing."""
    if whole:
        return None
    if not part:
        return f"the role has no SELECT privilege; if it is to be asked: {grant}"
    shown = _some([_shown(sql_identifier(column)) for column in columns])
    if kind in ("r", "p"):
        return f"asked without {shown}, which the role may not SELECT" if columns else None
    what = f"the role may not SELECT {shown}" if columns else "the role may SELECT its columns one by one"
    return f"{what}, and a view is asked as a whole: {grant}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def _shown(name: str) -> str:
    """A name within one line: a comment, which it cannot end."""
    return " ".join(name.split())
