"""Findings of the administrator's check, and declared keys, counted over all rows.

What the planner proves from a declared key (`planner.policy.declared`) holds for the counted rows. Three things keep
it true. The ledger records the count with the data version and the structure of the database. No question over
private tables is answered if the record is of another version or structure. And the administrator records every
change of the rows (`noisegate data bump`). Only the next check notices an unrecorded change; let the database enforce
the key if that is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from psycopg import sql

from planner.policy.declared import believed_keys, declared_keys, without_null
from planner.schema import Schema, Table, sql_identifier, sql_name
from server.backends.custody import Custody
from server.errors import DataUnchecked
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger

Severity = Literal["error", "warning", "accepted"]


@dataclass(frozen=True)
class Finding:
    """One fact that the administrator should know.

    Attributes:
      severity: `error`: a declaration is false, and answers rest on it; `warning`: answers are sound, but less
        accurate;
        `accepted`: the administrator has accepted this number of rows.
      subject: the table, with the column if it is about one.
      message: the fact and its effect.
      rows: the exact number of rows, which is private and in no repr; None for a fact of structure.
      next_step: what the administrator does about it, literally; it may hold the number. None: nothing in general.
      stops: no proxy starts, or none answers, until it is fixed.
    """

    severity: Severity
    subject: str
    message: str
    rows: int | None = field(default=None, repr=False)
    next_step: str | None = field(default=None, repr=False)
    stops: bool = False


@dataclass(frozen=True)
class Probe:
    """A statement that counts the rows of one finding; no rows, no finding.

    Attributes:
      accepted: the number of rows that the administrator accepts; None: none declared.
      next_step: what to do about them; `{rows}` stands for their number.
      stops: as of a finding.
    """

    severity: Severity
    subject: str
    message: str
    count: sql.Composed | bytes
    accepted: int | None = None
    next_step: str | None = None
    stops: bool = False

    def finding(self, rows: int) -> Finding:
        """The finding of this many rows; `rows` is above 0."""
        step = None if self.next_step is None else self.next_step.replace("{rows}", str(rows))
        if self.accepted is None:
            return Finding(self.severity, self.subject, self.message, rows, step, self.stops)
        if rows <= self.accepted:
            return Finding("accepted", self.subject, f"{self.message}; up to {self.accepted} are accepted", rows)
        return Finding(self.severity, self.subject, f"{self.message}; only {self.accepted} are accepted", rows, step)


_OF_TABLES = "Ask again once the administrator has run `noisegate policy check`."
_OF_FILES = (
    "Ask again once the administrator has sent the proxy SIGHUP (kill -HUP), which counts the keys of the current "
    "files."
)
"""`policy check` counts the current files; the proxy keeps the state it knows until it is told."""


def refuse_unchecked(schema: Schema, ledger: Ledger) -> None:
    """Refuse questions while a declared key has not been counted in this data version.

    Raises: DataUnchecked.
    """
    believed = believed_keys(schema)
    if believed and not ledger.checked_keys(schema.fingerprint).issuperset(believed):
        raise DataUnchecked(
            "The keys have not been checked since the data changed, so no question is answered. Nothing was charged.",
            hint=_OF_FILES if schema.version else _OF_TABLES,
        )


def verify_keys(custody: Custody, schema: Schema, ledger: Ledger, act: Act) -> tuple[str, ...]:
    """Count every declared key without a record, and record those that hold.

    Args:
      custody: in one snapshot that is younger than this call's first read of the ledger.
      schema: with the keys that the policy declares.
    Returns: the keys that several rows share; they get no record, so no question is answered.
    Raises: BackendFailed if the database refuses to count; ConfigurationInvalid for values that cannot be read.
    Cost: one sort of the table per key; none if the ledger has the record.
    """
    believed, version = believed_keys(schema), ledger.data_version()
    if not believed or ledger.checked_keys(schema.fingerprint).issuperset(believed):
        return ()
    custody.check_readable(schema)
    shared = tuple(probe.subject for probe in key_probes(schema) if custody.count(probe.count))
    if not shared:
        ledger.note_checked(version, schema.fingerprint, believed, act)
    return shared


def key_probes(schema: Schema) -> Iterator[Probe]:
    """One probe per declared key."""
    for table, key in declared_keys(schema):
        if all(map(table.column, key)):
            message = "share a key that the policy declares unique: no question is answered until that is fixed"
            names = ", ".join(map(sql_identifier, key))
            step = f"remove the key from `keys`, or one of each two rows; SELECT {names}, count(*) FROM "
            step += f"{sql_name(table.name)} GROUP BY {names} HAVING count(*) > 1 lists them"
            yield replace(shared_key(table, key, message), next_step=step, stops=True)
            if without_null(schema):
                yield _null_key(table, key)


def _null_key(table: Table, key: tuple[str, ...]) -> Probe:
    missing = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(name)) for name in key)
    count = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(table_name(table), missing)
    message = "have a NULL in a key that the policy declares unique: no question is answered until that is fixed"
    return Probe("error", f"{table.name}.{', '.join(key)}", message, count, stops=True)


def shared_key(table: Table, key: tuple[str, ...], message: str) -> Probe:
    """Rows that share a key with another; NULL is no value, as in a constraint."""
    return Probe("error", f"{table.name}.{', '.join(key)}", message, beyond(table, key, sql.SQL("n"), 1))


def beyond(table: Table, key: tuple[str, ...], counted: sql.Composable, most: int) -> sql.Composed:
    """What is counted of the keys that more than `most` rows share; NULL shares nothing."""
    return sql.SQL(
        "SELECT coalesce(sum({counted}), 0)::bigint FROM "
        "(SELECT count(*) AS n FROM {table} WHERE {present} GROUP BY {names} HAVING count(*) > {most}) d"
    ).format(
        counted=counted,
        table=table_name(table),
        present=present(key),
        names=sql.SQL(", ").join(map(sql.Identifier, key)),
        most=sql.Literal(most),
    )


def present(key: tuple[str, ...], alias: str = "") -> sql.Composed:
    """The condition that no column of a key is NULL."""
    return sql.SQL(" AND ").join(sql.SQL(f"{alias}{{}} IS NOT NULL").format(sql.Identifier(name)) for name in key)


def table_name(table: Table) -> sql.Composed:
    """The table with its schema, quoted."""
    return sql.SQL("{}.{}").format(sql.Identifier(table.namespace), sql.Identifier(table.relation))
