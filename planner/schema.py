"""The catalog as the planner sees it: structure only, never a value and never a row count."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property


@dataclass(frozen=True)
class Column:
    """A column: its name, its type in the database's own words (`bigint`, `numeric(15,2)`), may it be NULL."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of the table that holds it reference `key` of table `references`."""

    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table with its enforced constraints.

    Attributes:
      name: the table's name, lower case as the catalog has it.
      namespace: the schema that holds it (`public`).
      columns: in the table's order.
      unique_keys: each an enforced primary or unique key (partial and deferrable ones left out).
      foreign_keys: all that the catalog declares, enforced or not; one may lead to a table that is not here.
    """

    name: str
    namespace: str
    columns: tuple[Column, ...]
    unique_keys: tuple[tuple[str, ...], ...]
    foreign_keys: tuple[ForeignKey, ...]

    def column(self, name: str) -> Column | None:
        """The column of that name, or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.columns)}


@dataclass(frozen=True)
class Schema:
    """All tables that the proxy's role may read, by name."""

    tables: Mapping[str, Table]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the structure; a plan made for one fingerprint never runs on another."""
        document = {name: asdict(table) for name, table in sorted(self.tables.items())}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
