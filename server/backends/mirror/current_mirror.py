"""Is the copy that is there one of this load of the data, of this structure, with all that the policy asks for?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from planner.errors import UnsupportedSQL
from planner.plan import BackendQuery, Plan
from planner.policy.policy import Policy
from planner.rewriting.dialects.mirror import folded, mirrored
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema, Table
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbLimits
from server.backends.mirror.mirror import MirrorFirst
from server.backends.mirror.mirror_backend import MirrorBackend
from server.backends.mirror.mirror_file import Columns, MirrorFile, Stamp
from server.errors import BackendUnavailable


class Loads(Protocol):
    """The part of a ledger that knows which copy was made of the data."""

    def mirrored_load(self) -> tuple[int, str | None]:
        """The version of the data, and the name of its copy."""
        ...


@dataclass
class _Seen:
    """What was in the file when it was last looked at, by the state that the system tells of it."""

    state: tuple[int, ...] = ()
    stamp: Stamp | None = None


@dataclass(frozen=True)
class CurrentMirror:
    """The mirror of a policy.

    Attributes:
      file: where the copy is.
      schema: of the database, as plans are made for it.
      tables: those that are copied.
      ledger: knows the version of the data, and its copy.
      limits: of one question.
    """

    file: MirrorFile
    schema: Schema
    tables: tuple[Table, ...]
    ledger: Loads
    limits: DuckdbLimits = field(default_factory=DuckdbLimits)
    _seen: _Seen = field(default_factory=_Seen, compare=False, repr=False)

    def query(self, plan: Plan) -> BackendQuery | None:
        """A question's statements as the copy reads them; None where they are PostgreSQL's alone to read."""
        try:
            tables = {table.name: table for table in self.tables}
            return rewrite(plan, dialect="mirror", schema=replace(self.schema, tables=tables, views={}))
        except UnsupportedSQL:
            return None

    def source(self, query: BackendQuery, data_version: int, database: Backend) -> Backend:
        """Where a question's rows are read: the copy while it is current, else the database."""
        version, name = self.ledger.mirrored_load()
        stamp = self._stamp()
        if stamp is None or stamp.id != name or version != data_version or self._lack(stamp):
            return database
        return MirrorFirst(self._backend(stamp), query, database)

    def _backend(self, stamp: Stamp) -> MirrorBackend:
        return MirrorBackend(self.file.path, limits=self.limits, key=self.file.key, id=stamp.id)

    def why_not(self) -> str | None:
        """What keeps the copy from being current, for its custodian; None where it is."""
        _, name = self.ledger.mirrored_load()
        stamp = self._stamp()
        if stamp is None:
            there = self.file.path.exists()
            return (
                "its file cannot be opened (is it the key that it was made with?)"
                if there
                else "there is no copy yet"
            )
        if stamp.id != name:
            return "the data has been loaded anew since the copy was made"
        return self._lack(stamp)

    def copied_at(self) -> float | None:
        """When the copy was made, in seconds since 1970; None where there is none."""
        stamp = self._stamp()
        return None if stamp is None else stamp.copied_at

    def _lack(self, stamp: Stamp) -> str | None:
        if stamp.fingerprint != self.schema.fingerprint:
            return "the tables of the database have other columns than when the copy was made"
        for table, columns in columns_of(self.tables).items():
            if columns.items() - stamp.columns.get(table, {}).items():
                return f"it lacks columns of {table}, which the policy names"
        return None

    def _stamp(self) -> Stamp | None:
        """Read again where the file is another one."""
        try:
            found = self.file.path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
            if state != self._seen.state:
                stamp = self.file.stamp()
                self._seen.state, self._seen.stamp = state, stamp
            return self._seen.stamp
        except (OSError, BackendUnavailable):
            return None


def copied_tables(schema: Schema, policy: Policy) -> tuple[Table, ...]:
    """The tables that a mirror holds: those that the policy names, and those through which somebody owns rows.

    Views have rows that are another's, or change while they are copied; of names that DuckDB takes for one another
    none is copied, and no table of which no column is.
    """
    owners = [name for key in policy.foreign_keys if key.owning for name in (key.table, key.references)]
    names = sorted({*policy.tables, *policy.privacy_units, *owners} & (schema.tables.keys() - schema.views.keys()))
    alike = Counter(folded(f"{schema.tables[name].namespace}.{schema.tables[name].relation}") for name in names)
    tables = [schema.tables[name] for name in names]
    return tuple(
        table
        for table in tables
        if mirrored(table).columns and alike[folded(f"{table.namespace}.{table.relation}")] == 1
    )


def columns_of(tables: Sequence[Table]) -> Columns:
    """What is copied of tables."""
    return {table.name: {column.name: column.type for column in mirrored(table).columns} for table in tables}
