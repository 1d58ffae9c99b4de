"""What the custodian's side needs of a database, and the fingerprints of rows day by day.

A fingerprint is a count and two sums of hashes, which no order of rows changes. The hash of a row is SHA-256 over all
its columns that the role may read, each as text behind its length, NULL as its own sign: two rows have one text
exactly if all their columns are written alike. Sixty bits of it are added up twice over, so that multisets that
differ have one fingerprint with a chance of about 2^-120. What a database writes of a value is taken as it is: a new
version of it that writes values otherwise shows every row as changed, never the other way round. All of it is exact
and private: it stays with the custodian, who keeps digests of it alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
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
"""PostgreSQL's SQL of a SELECT of one number."""


class Misfit(Exception):
    """The database finds no sense in comparing a column with what the policy declares of it."""


class Custody(Protocol):
    """A database in one snapshot, whose exact numbers no analyst may see; by default one of files."""

    @property
    def name(self) -> str:
        """What the database is called."""
        ...

    if TYPE_CHECKING:  # a field of a dataclass would take the property for its default

        @property
        def backend(self) -> Backend:
            """What answers from this database, in the state of this snapshot where it can tell one from another."""
            ...

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure of these schemas."""
        ...

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit; BackendFailed."""
        ...

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """The rows of a statement in the database's own dialect that selects whole numbers. Raises: BackendFailed."""
        ...

    def namespaces(self) -> Sequence[str]:
        """The schemas that the role may use; of files one, which is called as PostgreSQL calls its own."""
        return ("public",)

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What else they hold, with the reason why no answer can be about it; of files nothing."""
        return ()

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """What the database's statistics say of the rows, without a look at them; of files nothing."""
        return Estimates(today=today)

    def refuse_unsafe_role(self) -> None:
        """Refuse a role that may do more than SELECT; files have none, and are never written. Raises: UnsafeRole."""
        return

    def check_readable(self, schema: Schema) -> None:
        """Refuse values that a question fails by when it reads their column: that it fails tells that they are there.

        Raises: ConfigurationInvalid.
        """
        return


_PIECE = 15
"""Hexadecimal digits that fit a bigint whatever they are."""

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, repr=False)
class Print:
    """Of a multiset of rows.

    Attributes:
      sums: of the two pieces of their hashes.
    """

    count: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: Print) -> Print:
        return Print(self.count + other.count, (self.sums[0] + other.sums[0], self.sums[1] + other.sums[1]))


@dataclass(frozen=True, repr=False)
class WayPrints:
    """Of the rows that rows of an append-only table lead to, by the day of these.

    Attributes:
      shape: a hash of which columns of which tables were read, and how: prints of another shape say nothing of these.
      days: by the ordinal of the day; days without rows are left out.
    """

    shape: str
    days: Mapping[int, Print]


def day_prints(
    custody: Custody, table: Table, column: str, before: date, ways: Sequence[Way]
) -> Mapping[str, WayPrints]:
    """The fingerprints of a table's rows before a day, and of those that they lead to, by the way's name.

    Args:
      column: of its date or moment, read at UTC; rows where it is NULL are of no day.
      ways: along the table's foreign keys, those first that others go on from.
    Raises: BackendFailed.
    Cost: one scan, a join along each way, and a hash of each row for each of them.
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
    told = {OWN: table} | {way.name: way.table for way in ways}
    hashes = ", ".join(f"{_row_hash(dialect, aliases[name], told[name])} AS h_{aliases[name]}" for name in told)
    found = table.column(column)
    assert found is not None, "the policy was validated"
    moment = f"t.{quoted(column)}"
    if sql_type(found.type).family is Family.TIMESTAMPTZ:
        moment = f"({moment} AT TIME ZONE 'UTC')"
    inside = f"CAST(greatest(least({moment}, DATE '9999-12-31'), DATE '0001-01-01') AS DATE)"
    sums = ", ".join(_hash_sums(dialect, f"h_{aliases[name]}") for name in told)
    statement = (
        f"SELECT day, count(*), {sums} FROM (SELECT {inside} - DATE '1970-01-01' AS day, {hashes} "
        f"FROM {_name(table)} t {' '.join(joins)} WHERE {moment} < DATE '{before}') r GROUP BY day"
    )
    days: dict[str, dict[int, Print]] = {name: {} for name in told}
    for day, count, *pieces in custody.whole_numbers(statement):
        for place, name in enumerate(told):
            days[name][day + _EPOCH] = Print(count, (pieces[2 * place], pieces[2 * place + 1]))
    return {name: WayPrints(_shape(dialect, name, told[name], column), days[name]) for name in told}


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
    """The dialect of a database by which rows are hashed. Raises: BackendFailed."""
    if (dialect := custody.backend.dialect) not in ("postgres", "duckdb"):
        raise BackendFailed("rows of closed periods are not compared by this database", hint="leave append_only out")
    return dialect


def _row_hash(dialect: Dialect, alias: str, table: Table) -> str:
    """The hexadecimal digits of the SHA-256 of a text that says all columns of a row, and nothing else."""
    texts = (f"CAST({alias}.{quoted(column.name)} AS VARCHAR)" for column in table.columns)
    row = " || ".join(f"coalesce(CAST(length({text}) AS VARCHAR) || ':' || {text}, '-')" for text in texts)
    return f"encode(sha256(convert_to({row}, 'UTF8')), 'hex')" if dialect == "postgres" else f"sha256({row})"


def _hash_sums(dialect: Dialect, digits: str) -> str:
    """The sums of the two pieces of hashes, 0 of no rows."""
    number = f"('x' || {{}})::bit({4 * _PIECE})::bigint" if dialect == "postgres" else "CAST('0x' || {} AS BIGINT)"
    pieces = (f"substr({digits}, {1 + place * _PIECE}, {_PIECE})" for place in range(2))
    return ", ".join(f"coalesce(sum({number.format(piece)}), 0)" for piece in pieces)


def _shape(dialect: Dialect, way: str, table: Table, column: str) -> str:
    columns = [[one.name, one.type] for one in table.columns]
    return hashlib.sha256(json.dumps([dialect, way, table.name, columns, column]).encode()).hexdigest()[:32]


def _name(table: Table) -> str:
    return f"{quoted(table.namespace)}.{quoted(table.relation)}"
