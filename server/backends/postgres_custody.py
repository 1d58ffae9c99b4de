"""PostgreSQL for administrator commands: the proxy's role, the statistics, and relations that cannot be used."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import psycopg
from psycopg import errors

from planner.policy.draft import MIGRATION_TABLES, Estimates
from planner.policy.sections import DatabaseLimits
from planner.schema import PUBLIC, Column, Schema, sql_identifier, sql_name, table_name
from planner.sql.sql_types import Family, sql_type
from server.backends.custody import Custody, Misfit, Statement
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_namespaces, read_schema
from server.errors import BackendFailed, UnsafeRole

_ATTRIBUTES = """
    SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
    FROM pg_roles WHERE rolname = current_user
"""
_ATTRIBUTE_NAMES = ("SUPERUSER", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS")

_MEMBERSHIPS = """
    SELECT rolname FROM pg_roles
    WHERE pg_has_role(current_user, oid, 'MEMBER') AND rolname <> current_user
      AND (rolsuper OR rolname IN ('pg_write_all_data', 'pg_write_server_files', 'pg_read_server_files',
           'pg_execute_server_program', 'pg_signal_backend', 'pg_maintain', 'pg_create_subscription'))
"""

_TABLES = """
    SELECT n.nspname || '.' || c.relname,
           pg_has_role(current_user, c.relowner, 'MEMBER'),
           has_any_column_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'UPDATE')
             OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE')
             OR has_table_privilege(c.oid, 'TRIGGER'),
           c.relrowsecurity AND has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1
"""

_CREATE = """
    SELECT 'schema ' || quote_ident(nspname) FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')
    UNION ALL
    SELECT 'database ' || quote_ident(current_database()) WHERE has_database_privilege(current_database(), 'CREATE')
"""

_ANOTHER = (
    "CREATE ROLE noisegate LOGIN PASSWORD '...'; GRANT USAGE ON SCHEMA {schemas} TO noisegate; "
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schemas} TO noisegate; and let the proxy connect as noisegate"
)
_ALL_TABLES = "ALL TABLES IN SCHEMA "

_GRANT = "GRANT SELECT on the policy's tables to the proxy's database role"

_SHOWN = 3


_MOST_VALUES = 50
"""The largest domain that a draft proposes."""

_LONGEST_VALUE = 80

_ROWS = """
    SELECT n.nspname, c.relname, greatest(c.reltuples, 0)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%s) AND c.relkind IN ('r', 'p') AND c.reltuples >= 0
"""

# For a partitioned table, `inherited` marks the statistics of the whole table.
_COLUMNS = """
    SELECT schemaname, tablename, attname, n_distinct, most_common_vals::text::text[], histogram_bounds::text::text[]
    FROM pg_stats WHERE schemaname = ANY (%s)
    ORDER BY inherited
"""


def _setting(column: Column, n_distinct: float, common: Sequence[str], histogram: Sequence[str]) -> str | None:
    """A range of numbers, or a domain of a few known texts; None if neither applies."""
    kind = sql_type(column.type)
    if kind.is_number:
        return _range([*common, *histogram], whole=kind.family is Family.INTEGER)
    known = 0 < n_distinct == len(common) <= _MOST_VALUES and not histogram
    if kind.family is Family.TEXT and known and all(len(value) <= _LONGEST_VALUE for value in common):
        return f"domain = {json.dumps(sorted(common), ensure_ascii=False)}"
    return None


def _range(values: Sequence[str], whole: bool) -> str | None:
    numbers = [number for value in values if math.isfinite(number := float(value))]
    if not numbers:
        return None
    low, high = _outward(min(numbers), math.floor), _outward(max(numbers), math.ceil)
    return f"range = [{low:.0f}, {high:.0f}]" if whole else f"range = [{low:.6g}, {high:.6g}]"


_LEAST_POWER = -300
"""Smaller powers of ten are not exact, or 0."""


def _outward(value: float, rounded: Callable[[float], int]) -> float:
    """Round away from the range to one significant digit."""
    if value == 0:
        return 0.0
    unit = 10.0 ** max(math.floor(math.log10(abs(value))), _LEAST_POWER)
    return rounded(value / unit) * unit


_FEW = 8

# Partitions are listed with their root, because there may be thousands.
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

# Tables and columns behind each view, directly or through other views, that the role may not read.
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


def _unreadable(grant: str, kind: str, whole: bool, part: bool, columns: Sequence[str]) -> str | None:
    """What the role may not read of a relation, with the GRANT that allows it; None if it may read everything."""
    if whole:
        return None
    if not part:
        return f"the role has no SELECT privilege; to allow questions: {grant}"
    shown = _some([_shown(sql_identifier(column)) for column in columns])
    if kind in ("r", "p"):
        return f"shown without {shown}, which the role may not SELECT" if columns else None
    what = f"the role may not SELECT {shown}" if columns else "the role may SELECT its columns one by one"
    return f"{what}, and a view needs SELECT on all of it: {grant}"


def _some(names: Sequence[str], few: int = _FEW) -> str:
    more = f" and {len(names) - few} more" if len(names) > few else ""
    return ", ".join(names[:few]) + more


def _shown(name: str) -> str:
    """A name on one line, so that it cannot end a comment."""
    return " ".join(name.split())


_MISFIT = (psycopg.DataError, errors.UndefinedFunction, errors.DatatypeMismatch)


@dataclass(frozen=True)
class PostgresCustody(Custody):
    """One read-only snapshot.

    Attributes:
      connection: from `server.backends.postgres.connected`.
      named: the policy's schemas.
      limits: of a question.
    """

    connection: psycopg.Connection[Any]
    url: str = field(default="", repr=False)
    named: tuple[str, ...] = ()
    limits: DatabaseLimits = DatabaseLimits()

    @property
    def name(self) -> str:
        """The database's name."""
        return self.connection.info.dbname

    @property
    def backend(self) -> PostgresBackend:
        """A backend with connections of its own."""
        return PostgresBackend(self.url, ReadLimits.of_policy(self.limits), self.named)

    def namespaces(self) -> Sequence[str]:
        """The schemas that the role may use."""
        return read_namespaces(self.connection)

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure of these schemas."""
        return read_schema(self.connection, tuple(namespaces))

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """Relations and schemas that `read_schema` omits or shows in part, or that cannot be queried, each with the
        reason.

        Cost: three catalog queries.
        """
        parameters = {"namespaces": list(namespaces)}
        found: dict[str, str] = {}
        (role,) = self.connection.execute("SELECT current_user").fetchone() or ("",)
        to_role = f"TO {_shown(sql_identifier(role))};"
        for namespace, relation, kind, usable, *rights, inherited in self.connection.execute(_RELATIONS, parameters):
            name = table_name(namespace, relation)
            if not usable:
                schema = _shown(sql_identifier(namespace))
                found[table_name(namespace, "*")] = (
                    "the role has no USAGE of the schema; run as its owner: "
                    f"GRANT USAGE ON SCHEMA {schema} {to_role} "
                    f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} {to_role}"
                )
            elif (
                reason := _unreadable(f"GRANT SELECT ON {_shown(sql_name(name))} {to_role}", kind, *rights)
            ) is not None:
                found[name] = reason
            elif inherited and kind == "r":
                found[name] = "other tables inherit from it, and its keys do not cover their rows"
        behind: dict[str, list[str]] = {}
        for view_schema, view, namespace, relation, column in self.connection.execute(_BEHIND, parameters):
            read = sql_name(table_name(namespace, relation))
            read = read if column is None else f"{read}.{sql_identifier(column)}"
            behind.setdefault(table_name(view_schema, view), []).append(_shown(read))
        for view, hidden in behind.items():
            found[view] = f"it reads {_some(hidden)}, which the role may not SELECT, so it cannot be queried"
        partitions: dict[str, list[str]] = {}
        for namespace, relation, *root in self.connection.execute(_PARTITIONS, parameters):
            partitions.setdefault(table_name(*root), []).append(table_name(namespace, relation))
        for root, names in partitions.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            found[names[0]] = f"a partition{more}: read through {_shown(sql_name(root))}"
        return tuple(sorted(found.items()))

    def grants(self, namespaces: Sequence[str], named: Collection[str] = ()) -> str:
        """The statements that let the role read all tables of these schemas, but those of migration tools; or the
        named ones.

        Cost: two catalog queries.
        """
        (role,) = self.connection.execute("SELECT current_user").fetchone() or ("",)
        closed: dict[str, None] = {}
        hidden: defaultdict[str, list[str]] = defaultdict(list)
        readable: set[str] = set()
        parameters = {"namespaces": list(namespaces)}
        for namespace, relation, _, usable, whole, part, *_ in self.connection.execute(_RELATIONS, parameters):
            schema, table = sql_identifier(namespace), table_name(namespace, relation)
            if table not in named if named else relation.lower() in MIGRATION_TABLES:
                continue
            if not usable:
                closed[schema] = None
            if whole or part:
                readable.add(schema)
            else:
                hidden[schema].append(sql_name(table))
        said = [f"GRANT USAGE ON SCHEMA {schema}" for schema in closed]
        for schema, names in hidden.items():
            said.append(
                f"GRANT SELECT ON {', '.join(names) if named or schema in readable else _ALL_TABLES + schema}"
            )
        return _shown(" ".join(f"{grant} TO {sql_identifier(role)};" for grant in said))

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """Row counts and, per column, a range or a domain, from the last ANALYZE of each table.

        They are not differentially private: the ends of a range come from single rows, rounded outward.
        Cost: two catalog queries.
        """
        namespaces = sorted({table.namespace for table in schema.tables.values()})
        rows = {}
        for namespace, relation, count in self.connection.execute(_ROWS, [namespaces]):
            if (table := schema.at(namespace, relation)) is not None:
                rows[table.name] = count
        columns = {}
        for namespace, relation, attribute, n_distinct, common, histogram in self.connection.execute(
            _COLUMNS, [namespaces]
        ):
            table = schema.at(namespace, relation)
            column = None if table is None else table.column(attribute)
            setting = None if column is None else _setting(column, n_distinct, common or [], histogram or [])
            if table is not None and setting is not None:
                columns[table.name, attribute] = setting
        return Estimates(rows, columns, today)

    def refuse_unsafe_role(self) -> None:
        """Check the privileges of the connected role.

        Raises: UnsafeRole if the role may do more than SELECT, or if row-level security hides rows from it.
        """
        owned, written, cut = [], [], []
        for table, owns, writes, row_security in self.connection.execute(_TABLES):
            if owns:
                owned.append(table)
            elif writes:
                written.append(table)
            if row_security:
                cut.append(table)
        (rights,) = self.connection.execute(_ATTRIBUTES)
        attributes = [f"it has {name}" for name, has in zip(_ATTRIBUTE_NAMES, rights, strict=True) if has]
        memberships = [f"it is a member of {name}" for (name,) in self.connection.execute(_MEMBERSHIPS)]
        beyond = [*attributes, *memberships]
        for does, tables in (("it owns", owned), ("it may write", written)):
            beyond += [f"{does} {_some(tables, _SHOWN)}"] if tables else []
        hidden = [f"row-level security hides rows of {table} from it" for table in cut]
        creates = [place for (place,) in self.connection.execute(_CREATE)]
        schemas = ", ".join(map(sql_identifier, self.named or read_namespaces(self.connection))) or PUBLIC
        hints = [_ANOTHER.format(schemas=_shown(schemas))] if beyond else []
        if creates and not beyond:
            hints += [f"REVOKE CREATE ON {place} FROM PUBLIC, and from the role" for place in creates]
        if hidden:
            hints.append(
                f"REVOKE SELECT ON {', '.join(cut)} FROM the role: answers would lack the rows that are hidden"
            )
        findings = [*beyond, *hidden, *(f"it may CREATE in {place}" for place in creates)]
        if findings:
            raise UnsafeRole(
                "the database role may do more than SELECT: " + "; ".join(findings), hint="; ".join(hints)
            )

    def count(self, statement: Statement) -> int:
        """Run a statement that selects one number. Raises: Misfit; BackendFailed."""
        try:
            with self.connection.transaction():
                row = self.connection.execute(statement).fetchone()
        except _MISFIT as error:
            raise Misfit from error
        except psycopg.Error as error:
            raise BackendFailed("the database could not count the rows of a table", hint=_GRANT) from error
        assert row is not None, "an aggregate without GROUP BY returns one row"
        return int(row[0])

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Run a statement that selects whole numbers. Raises: BackendFailed."""
        try:
            with self.connection.transaction():
                found = self.connection.execute(statement.encode()).fetchall()
        except psycopg.Error as error:
            raise BackendFailed("the database could not compare the rows of a table", hint=_GRANT) from error
        return [tuple(map(int, row)) for row in found]
