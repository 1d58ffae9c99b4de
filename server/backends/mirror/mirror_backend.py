"""A mirror as a worker process reads it: one copy, and no other."""

from __future__ import annotations

from dataclasses import dataclass, field

from duckdb import DuckDBPyConnection

from planner.errors import SchemaChanged
from planner.plan import BackendQuery
from server.backends.columns import Domain
from server.backends.data_files import DuckdbFile
from server.backends.duckdb import DuckdbBackend
from server.backends.mirror.mirror_file import MirrorFile, read_stamp
from server.backends.query_tuples import QueryTuples
from server.errors import BackendUnavailable


@dataclass(frozen=True)
class _Attached(DuckdbFile):
    """A DuckDB file that may be encrypted."""

    key: str = field(default="", repr=False)

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Open it for reading. Returns: what lets a statement read it and nothing else of the machine."""
        return MirrorFile(self.path, self.key).attach(connection)


@dataclass(frozen=True)
class MirrorBackend(DuckdbBackend):
    """Reads from one copy, which is told by its name, whatever has been put in its place.

    Attributes:
      key: what the file is encrypted with; empty: it is not.
      id: the copy's name.
    """

    key: str = field(default="", repr=False)
    id: str = ""

    def read_if_there(self, query: BackendQuery) -> tuple[Domain, QueryTuples] | None:
        """As `DuckdbBackend.read`; None where the copy is not there any more, and nothing was read."""
        try:
            return self.read(query)
        except (BackendUnavailable, SchemaChanged):  # both are raised before a row is read
            return None

    @property
    def _source(self) -> DuckdbFile:
        return _Attached(self.path, self.namespace, self.key)

    def _fingerprint(self, connection: DuckDBPyConnection) -> str:
        """That of the database which was copied, whose keys the plans rest on."""
        stamp = read_stamp(connection)
        if stamp.id != self.id:
            raise SchemaChanged("another copy has taken this one's place", hint="ask again")
        return stamp.fingerprint
