"""What the custodian's check counts and finds, and the keys that no constraint enforces, counted over all rows.

What the planner proves from a declared key (`planner.policy.declared`) holds for the rows that were counted.
Three things keep it so: the count is recorded in the ledger with the version of the data and the structure of the
database; no question over private tables is answered where the record is of another version or structure; and whoever
changes the rows says so (`noisegate data bump`). The last is the custodian's word: a row that is added in between is
noticed by the next check only. Where that is not good enough, let the database enforce the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from psycopg import sql

from planner.policy.declared import believed_keys, declared_keys, without_null
from planner.schema import Schema, Table
from server.backends.custody import Custody
from server.errors import DataUnchecked
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger

Severity = Literal["error", "warning", "accepted"]


@dataclass(frozen=True)
class Finding:
    """One thing that the custodian should know.

    Attributes:
      severity: `error`: what the policy declares is not so, and answers rest on it; `warning`: they are sound,
        but less accurate; `accepted`: so many rows that the custodian has acknowledged.
      subject: the table, and the column if it is about one.
      message: what is so, and what follows from it.
      rows: how many rows, exactly; a private number, so it is in no repr. None for a matter of structure.
      next_step: what the custodian does about it, to the letter; it may hold the number. None: nothing in general.
    """

    severity: Severity
    subject: str
    message: str
    rows: int | None = field(default=None, repr=False)
    next_step: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Probe:
    """A statement that counts the rows of one finding; zero rows are no finding.

    Attributes:
      accepted: up to how many the custodian has acknowledged; None: nothing was said.
      next_step: what to do about them; `{rows}` stands for their number.
    """

    severity: Severity
    subject: str
    message: str
    count: sql.Composed | bytes
    accepted: int | None = None
    next_step: str | None = None

    def finding(self, rows: int) -> Finding:
        """What so many rows mean; `rows` is above 0."""
        step = None if self.next_step is None else self.next_step.replace("{rows}", str(rows))
        if self.accepted is None:
            return Finding(self.severity, self.subject, self.message, rows, step)
        if rows <= self.accepted:
            return Finding("accepted", self.subject, f"{self.message}; up to {self.accepted} are acknowledged", rows)
        return Finding(
            self.severity, self.subject, f"{self.message}; only {self.accepted} are acknowledged", rows, step
        )


_OF_TABLES = "The custodian runs `noisegate policy check`; then ask again."
_OF_FILES = (
    "The custodian sends the proxy SIGHUP (kill -HUP), which reads the files that are there now and counts their "
    "keys; then ask again."
)
"""`policy check` counts the files that are there now; until it is told the proxy goes on with the state it knows."""


def refuse_unchecked(schema: Schema, ledger: Ledger) -> None:
    """Let nothing rest on a key that has not been counted in this version of the data; one read where there is
    one.

    Raises: DataUnchecked.
    """
    believed = believed_keys(schema)
    if believed and not ledger.checked_keys(schema.fingerprint).issuperset(believed):
        raise DataUnchecked(
            "The rows have not been checked since the data changed, so nothing is answered; nothing was charged.",
            hint=_OF_FILES if schema.version else _OF_TABLES,
        )


def verify_keys(custody: Custody, schema: Schema, ledger: Ledger, act: Act) -> tuple[str, ...]:
    """Count every declared key that is not known to be held once, and record those that are.

    Args:
      custody: in one snapshot that is younger than this call's first read of the ledger.
      schema: with the keys that the policy declares.
    Returns: the keys that several rows share; the record says nothing of them, so nothing is answered.
    Raises: BackendFailed when the database refuses to count; ConfigurationInvalid for values that cannot be read.
    Cost: one sort of the table per key; none where the ledger has the record.
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
            message = "share a key that the policy declares: nothing is answered until they do not"
            yield shared_key(table, key, message)
            if without_null(schema):
                yield _null_key(table, key)


def _null_key(table: Table, key: tuple[str, ...]) -> Probe:
    """Rows whose key is NULL, in whole or in part."""
    missing = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(name)) for name in key)
    count = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(table_name(table), missing)
    message = "NULL in a key that the policy declares: nothing is answered until each row has one"
    return Probe("error", f"{table.name}.{', '.join(key)}", message, count)


def shared_key(table: Table, key: tuple[str, ...], message: str) -> Probe:
    """Rows that share a key with another; NULL is no value, as in a constraint."""
    return Probe("error", f"{table.name}.{', '.join(key)}", message, beyond(table, key, sql.SQL("n"), 1))


def beyond(table: Table, key: tuple[str, ...], counted: sql.Composable, most: int) -> sql.Composed:
    """What is counted of the keys that more than so many rows share; NULL in a key shares nothing."""
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
