"""Findings of the administrator's check, and declared keys, counted over all rows.

What the planner proves from a declared key (`planner.policy.declared`) holds for the counted rows. Three things keep
it true. The ledger records the count with the data version and the structure of the database. No question that
rests on a key is answered if its record is of another version or structure. And the administrator records every
change of the rows (`noisegate data bump`). Only the next check notices an unrecorded change; let the database enforce
the key if that is not enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from psycopg import sql

from planner.plan import Plan
from planner.policy.declared import believed_keys, declared_keys, key_name, without_null
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import Schema, Table, sql_identifier, sql_name
from planner.sql.trees import tables_of
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


_STOPS = "until that is fixed, no question is answered over this table, or one that refers to it"

_OF_TABLES = "Ask again once the administrator has run `noisegate policy check`."
_OF_FILES = (
    "Ask again once the administrator has sent the proxy SIGHUP (kill -HUP), which counts the keys of the current "
    "files."
)
"""`policy check` counts the current files; the proxy keeps the state it knows until it is told."""


def refuse_unchecked(schema: Schema, policy: Policy, ledger: Ledger, plan: Plan) -> None:
    """Refuse a question while a declared key that it may rest on has no record for this data version.

    It rests on keys of the tables that it reads, those of its groups, and all that their references lead to.

    Raises: DataUnchecked.
    """
    believed = believed_keys(schema)
    if not believed or (checked := ledger.checked_keys(schema.fingerprint)).issuperset(believed):
        return
    statements = [plan.source, *(one.statement for one in plan.domains if one.statement is not None)]
    read = [schema.at(node.db, node.name) for tree in statements for node in tables_of(tree) if node.db]
    reached = ownership(schema, policy).reached(schema.tables if None in read else {one.name for one in read if one})
    for table, key in declared_keys(schema):
        if table.name in reached and key_name(table.name, key) not in checked:
            raise DataUnchecked(
                f"The key {key_name(table.name, key)} is not checked since the data changed, or rows share it. "
                "So no question that rests on it is answered. Nothing was charged.",
                hint=_OF_FILES if schema.version else _OF_TABLES,
            )


def verify_keys(custody: Custody, schema: Schema, ledger: Ledger, act: Act) -> tuple[str, ...]:
    """Count every declared key without a record, and record those that hold.

    Args:
      custody: in one snapshot that is younger than this call's first read of the ledger.
      schema: with the keys that the policy declares.
    Returns: the keys that several rows share; they get no record, so no question that rests on them is answered.
    Raises: BackendFailed if the database refuses to count; ConfigurationInvalid for values that cannot be read.
    Cost: one sort of the table per key; none if the ledger has the record.
    """
    believed, version = believed_keys(schema), ledger.data_version()
    if not believed or ledger.checked_keys(schema.fingerprint).issuperset(believed):
        return ()
    custody.check_readable(schema)
    shared = {probe.subject for probe in key_probes(schema) if custody.count(probe.count)}
    held = unshared(schema, shared)
    if held and not ledger.checked_keys(schema.fingerprint).issuperset(held):
        ledger.note_checked(version, schema.fingerprint, held, act)
    return tuple(sorted(shared))


def unshared(schema: Schema, subjects: Collection[str]) -> tuple[str, ...]:
    """The declared keys without the subjects of probes that found rows, named as in the ledger."""
    return tuple(
        sorted(
            key_name(table.name, key) for table, key in declared_keys(schema) if _subject(table, key) not in subjects
        )
    )


def _subject(table: Table, key: tuple[str, ...]) -> str:
    return f"{table.name}.{', '.join(key)}"


def key_probes(schema: Schema) -> Iterator[Probe]:
    """One probe per declared key, two in files."""
    for table, key in declared_keys(schema):
        if all(map(table.column, key)):
            message = f"share a key that the policy declares unique: {_STOPS}"
            names = ", ".join(map(sql_identifier, key))
            step = f"remove the key from `keys`, or one of each two rows; SELECT {names}, count(*) FROM "
            step += f"{sql_name(table.name)} GROUP BY {names} HAVING count(*) > 1 lists them"
            yield replace(shared_key(table, key, message), next_step=step, stops=True)
            if without_null(schema):
                yield _null_key(table, key)


def _null_key(table: Table, key: tuple[str, ...]) -> Probe:
    missing = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(sql.Identifier(name)) for name in key)
    count = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(table_name(table), missing)
    message = f"have a NULL in a key that the policy declares unique: {_STOPS}"
    return Probe("error", _subject(table, key), message, count, stops=True)


def shared_key(table: Table, key: tuple[str, ...], message: str) -> Probe:
    """Rows that share a key with another; NULL is no value, as in a constraint."""
    return Probe("error", _subject(table, key), message, beyond(table, key, sql.SQL("n"), 1))


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
