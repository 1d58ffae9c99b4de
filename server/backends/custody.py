"""What administrator commands read from a database, and fingerprints of rows by day.

A fingerprint is a row count and two sums of hashes, so it does not depend on the order of rows. A row's hash is the
SHA-256 of all columns that the role may read. Each column is a text with its length, and NULL has a sign of its own.
Two rows have the same text exactly if all their columns have. Two sums of 60 bits each let different multisets
collide with probability about 2^-120. If a new database version writes a value differently, its rows count as
changed. Fingerprints are exact and private: only the administrator's files hold digests of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from psycopg import sql

from planner.policy.draft import Estimates
from planner.reuse.period_scope import OWN, Way
from planner.schema import Dialect, Schema, Table
from planner.sql.sql_types import Family, sql_type
from server.backends.backend import Backend, quoted
from server.errors import BackendFailed

Statement = sql.Composed | bytes
"""PostgreSQL's SQL that selects one number."""


class Misfit(Exception):
    """A column cannot be compared with what the policy declares about it."""


class Custody(Protocol):
    """One snapshot of a database with exact numbers, which no analyst may see. The defaults are those of files."""

    @property
    def name(self) -> str:
        """The database's name."""
        ...

    if TYPE_CHECKING:  # a dataclass field would use the property as its default

        @property
        def backend(self) -> Backend:
            """The backend for questions, in the state of this snapshot if the database can identify one."""
            ...

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure of these schemas."""
        ...

    def count(self, statement: Statement) -> int:
        """Run a statement that selects one number. Raises: Misfit; BackendFailed."""
        ...

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Run a statement, in the database's own dialect, that selects whole numbers. Raises: BackendFailed."""
        ...

    def namespaces(self) -> Sequence[str]:
        """The schemas that the role may use; files have one schema, named public."""
        return ("public",)

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """The relations that questions cannot use, each with the reason; none for files."""
        return ()

    def grants(self, namespaces: Sequence[str], named: Collection[str] = ()) -> str:
        """The statements that let the role read all tables of these schemas, or the named ones; empty if it can, as
        for files.
        """
        return ""

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """Row counts and value ranges from the database's statistics, without reading rows; none for files."""
        return Estimates(today=today)

    def refuse_unsafe_role(self) -> None:
        """Refuse a role that may do more than SELECT; files have no role. Raises: UnsafeRole."""
        return

    def check_readable(self, schema: Schema) -> None:
        """Refuse values that make every question about their column fail, because the failure would reveal them.

        Raises: ConfigurationInvalid.
        """
        return


_PIECE = 15
"""The number of hexadecimal digits that always fit a bigint."""

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, repr=False)
class Print:
    """The fingerprint of a multiset of rows.

    Attributes:
      sums: the sums of the two pieces of their hashes.
    """

    count: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: Print) -> Print:
        return Print(self.count + other.count, (self.sums[0] + other.sums[0], self.sums[1] + other.sums[1]))


@dataclass(frozen=True, repr=False)
class WayPrints:
    """Fingerprints by day of the rows that an append-only table's rows reference.

    Attributes:
      shape: a hash of the columns and tables that were read; fingerprints of different shapes cannot be compared.
      days: by the ordinal of the day; days without rows are missing.
    """

    shape: str
    days: Mapping[int, Print]


def day_prints(
    custody: Custody, table: Table, column: str, before: date, ways: Sequence[Way]
) -> Mapping[str, WayPrints]:
    """Fingerprints of a table's rows before a date, and of the rows that they reference, by the name of the
    reference.

    Args:
      column: the table's date or timestamp, read in UTC; rows with NULL belong to no day.
      ways: along foreign keys, each after the one that it continues.
    Raises: BackendFailed.
    Cost: one scan, one join per way, and one hash of each row per way.
    """
    dialect = _hashing(custody)
    aliases = {OWN: "t"} | {way.name: f"w{place}" for place, way in enumerate(ways)}
    joins = []
    for way in ways:
        pairs = " AND ".join(
            f"{aliases[way.name]}.{quoted(above)} = {aliases[way.before]}.{quoted(name)}"
            for name, above in zip(way.key.columns, way.key.key, strict=True)
        )
        joins.append(f"LEFT JOIN {_name(way.table)} {aliases[way.name]} ON {pairs}")
    tables = {OWN: table} | {way.name: way.table for way in ways}
    hashes = ", ".join(f"{_row_hash(dialect, aliases[name], tables[name])} AS h_{aliases[name]}" for name in tables)
    found = table.column(column)
    assert found is not None, "the policy was validated"
    moment = f"t.{quoted(column)}"
    if sql_type(found.type).family is Family.TIMESTAMPTZ:
        moment = f"({moment} AT TIME ZONE 'UTC')"
    inside = f"CAST(greatest(least({moment}, DATE '9999-12-31'), DATE '0001-01-01') AS DATE)"
    sums = ", ".join(_hash_sums(dialect, f"h_{aliases[name]}") for name in tables)
    statement = (
        f"SELECT day, count(*), {sums} FROM (SELECT {inside} - DATE '1970-01-01' AS day, {hashes} "
        f"FROM {_name(table)} t {' '.join(joins)} WHERE {moment} < DATE '{before}') r GROUP BY day"
    )
    days: dict[str, dict[int, Print]] = {name: {} for name in tables}
    for day, count, *pieces in custody.whole_numbers(statement):
        for place, name in enumerate(tables):
            days[name][day + _EPOCH] = Print(count, (pieces[2 * place], pieces[2 * place + 1]))
    return {name: WayPrints(_shape(dialect, name, tables[name], column), days[name]) for name in tables}


def whole_print(custody: Custody, table: Table) -> tuple[str, Print]:
    """The fingerprint of all rows of a table, and its shape. Raises: BackendFailed. Cost: one scan."""
    dialect = _hashing(custody)
    statement = (
        f"SELECT count(*), {_hash_sums(dialect, 'h')} FROM "
        f"(SELECT {_row_hash(dialect, 't', table)} AS h FROM {_name(table)} t) r"
    )
    ((count, low, high),) = custody.whole_numbers(statement)
    return _shape(dialect, OWN, table, ""), Print(count, (low, high))


def _hashing(custody: Custody) -> Dialect:
    """The dialect for hashing rows. Raises: BackendFailed if the database has none."""
    if (dialect := custody.backend.dialect) not in ("postgres", "duckdb"):
        raise BackendFailed(
            "this database cannot compare the rows of closed periods", hint="remove append_only from the policy"
        )
    return dialect


def _row_hash(dialect: Dialect, alias: str, table: Table) -> str:
    """SQL of the SHA-256, in hexadecimal, of a text that determines all columns of a row."""
    texts = (f"CAST({alias}.{quoted(column.name)} AS VARCHAR)" for column in table.columns)
    row = " || ".join(f"coalesce(CAST(length({text}) AS VARCHAR) || ':' || {text}, '-')" for text in texts)
    return f"encode(sha256(convert_to({row}, 'UTF8')), 'hex')" if dialect == "postgres" else f"sha256({row})"


def _hash_sums(dialect: Dialect, digits: str) -> str:
    """SQL of the sums of the two pieces of hashes, 0 without rows."""
    number = f"('x' || {{}})::bit({4 * _PIECE})::bigint" if dialect == "postgres" else "CAST('0x' || {} AS BIGINT)"
    pieces = (f"substr({digits}, {1 + place * _PIECE}, {_PIECE})" for place in range(2))
    return ", ".join(f"coalesce(sum({number.format(piece)}), 0)" for piece in pieces)


def _shape(dialect: Dialect, way: str, table: Table, column: str) -> str:
    columns = [[one.name, one.type] for one in table.columns]
    return hashlib.sha256(json.dumps([dialect, way, table.name, columns, column]).encode()).hexdigest()[:32]


def _name(table: Table) -> str:
    return f"{quoted(table.namespace)}.{quoted(table.relation)}"
