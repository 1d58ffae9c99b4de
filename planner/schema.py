"""The catalog as the planner sees it, and the databases it may be of: structure only, never a value or a row count.

The canonical name of a table of schema `public` is its own name, that of any other `schema.name`. A part that holds a
dot, or begins with a double quote, stands in double quotes, so no two tables have one name: `a.b` is table b of
schema a, and `"a.b"` a table of `public`. Nothing else is quoted or folded: the parts are the catalog's own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

Dialect = Literal["postgres", "duckdb", "mirror", "spark"]


PUBLIC = "public"
"""The schema whose tables go by their own names."""

_PART = r'"(?:[^"]|"")+"|[^".][^.]*'
_NAME = re.compile(rf"(?:(?P<namespace>{_PART})\.)?(?P<relation>{_PART})")
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def table_name(namespace: str, relation: str) -> str:
    """The canonical name of a table.

    >>> table_name("public", "visit"), table_name("clinic", "visit"), table_name("public", "a.b")
    ('visit', 'clinic.visit', '"a.b"')
    """
    return _part(relation) if namespace == PUBLIC else f"{_part(namespace)}.{_part(relation)}"


def name_parts(name: str, namespace: str = PUBLIC) -> tuple[str, str]:
    """The schema and the table of a name; `namespace` where it names no schema.

    Raises: ValueError for what is no name: it has a third part, an empty one, or a quote that does not close.

    >>> name_parts("visit"), name_parts("clinic.visit"), name_parts('"a.b"'), name_parts("visit", "clinic")
    (('public', 'visit'), ('clinic', 'visit'), ('public', 'a.b'), ('clinic', 'visit'))
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no name of a table")
    written = found["namespace"]
    return namespace if written is None else _plain(written), _plain(found["relation"])


def sql_name(name: str) -> str:
    """A canonical name as SQL says it: in quotes where PostgreSQL would fold it, or not read it.

    >>> sql_name("clinic.visit"), sql_name("Ward"), sql_name('"a.b"')
    ('clinic.visit', '"Ward"', '"a.b"')
    """
    namespace, relation = name_parts(name)
    parts = (relation,) if namespace == PUBLIC else (namespace, relation)
    return ".".join(map(sql_identifier, parts))


def sql_identifier(name: str) -> str:
    """An identifier as SQL says it, in quotes where they are needed; reserved words are not looked for.

    >>> sql_identifier("visit"), sql_identifier('a "b"')
    ('visit', '"a ""b\"""')
    """
    return name if _PLAIN.fullmatch(name) else f'"{name.replace(chr(34), chr(34) * 2)}"'


def _part(part: str) -> str:
    return f'"{part.replace(chr(34), chr(34) * 2)}"' if "." in part or part.startswith('"') else part


def _plain(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written


@dataclass(frozen=True)
class Column:
    """A column of the database's own type, in its words (`bigint`, `numeric(15,2)`).

    Attributes:
      nullable: may a value be missing: NULL, or NaN?
      nan: may it hold NaN? Every statement reads NaN as NULL (`planner.rewriting.read_nan_as_null`). Not said of the
        columns of keys: there a value is a name, and no name is missing for being NaN.
      nan_free: does a constraint keep NaN out, which a value of its type may be?
      type_name: of an enum the canonical name of its type, as a table's; empty where the database does not say.
    """

    name: str
    type: str
    nullable: bool
    nan: bool = False
    type_name: str = ""
    nan_free: bool = False

    def __post_init__(self) -> None:
        """NaN is one way to be missing."""
        assert self.nullable or not self.nan, "what may be NaN may be missing"


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of the table that holds it reference `key` of table `references`."""

    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]

    @property
    def pairs(self) -> tuple[str, frozenset[tuple[str, str]]]:
        """The same of two keys that say the same, in whichever order their columns stand."""
        return self.references, frozenset(zip(self.columns, self.key, strict=True))


@dataclass(frozen=True)
class Table:
    """A table with its enforced constraints.

    Attributes:
      name: its canonical name: no two tables of a database have the same.
      namespace: the schema that holds it (`public`).
      unique_keys: each an enforced primary or unique key (partial and deferrable ones left out).
      foreign_keys: all that the catalog declares, enforced or not; one may lead to a table that is not here.
      unproven_keys: those of `foreign_keys` that the database does not enforce over every row (NOT VALID, say), so
        that rows may reference nothing. No plan rests on it, so it is no part of the structure.
      primary_key: the one of `unique_keys` that is the primary key; None where there is none. On it alone the other
        columns depend functionally, as GROUP BY has it: none of its columns is ever NULL.
      declared_keys: unique keys that no constraint enforces and the policy declares (`planner.policy.declared`);
        no part of the structure.
    """

    name: str
    namespace: str
    columns: tuple[Column, ...]
    unique_keys: tuple[tuple[str, ...], ...]
    foreign_keys: tuple[ForeignKey, ...]
    primary_key: tuple[str, ...] | None = None
    declared_keys: tuple[tuple[str, ...], ...] = ()
    unproven_keys: tuple[ForeignKey, ...] = ()

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """All that identify at most one row: the enforced ones, then the declared ones."""
        return (*self.unique_keys, *self.declared_keys)

    def enforces(self, key: ForeignKey) -> bool:
        """Does the database see to it that every row references one, or nothing by a NULL?"""
        return key in self.foreign_keys and key not in self.unproven_keys

    @cached_property
    def relation(self) -> str:
        """The table's own name within its schema, as the catalog has it."""
        return name_parts(self.name)[1]

    def column(self, name: str) -> Column | None:
        """The column of that name, or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.columns)}


STORED = frozenset({"materialized view", "foreign table"})
"""Views by their kind whose rows are not computed from other tables when they are asked."""


@dataclass(frozen=True)
class View:
    """A relation whose rows are a query's, or another database's.

    Attributes:
      table: its name and columns, and the keys that a materialized one enforces.
      kind: what the database calls it: `view`, `materialized view`, `foreign table`.
      definition: the query in the database's own spelling, every name with its schema; None where none can be read.
      reads: the relations that the query names, by their canonical names.
    """

    table: Table
    kind: str
    definition: str | None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """All that the proxy's role may read, of the schemas that a policy names; each by its canonical name.

    Attributes:
      tables: relations with rows of their own, and the views that a policy declares to be tables.
      views: all others, and these.
      hidden: the names of what else stands in these schemas where a table could: what the role may not read, say. In
        SQL it hides what comes after it in the search path.
      database: the name of the database, which may stand before a schema's; empty where it has none.
      version: of a database that is files, which state of them this is; otherwise empty.
    """

    tables: Mapping[str, Table]
    views: Mapping[str, View] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    database: str = ""
    version: str = ""

    def declaring(self, names: Iterable[str]) -> Schema:
        """The same schema, of the same fingerprint, in which each view of `names` is read as a table."""
        declared = {name: self.views[name].table for name in names if name in self.views}
        return replace(self, tables={**self.tables, **declared}) if declared else self

    def beside(self, tables: Mapping[str, Table]) -> Schema:
        """The same schema with tables that stand for rows of one question.

        Its fingerprint is another one, worked out without a walk through all tables.
        """
        schema = replace(self, tables={**self.tables, **tables})
        document = json.dumps([_structure(table) for _, table in sorted(tables.items())], sort_keys=True)
        schema.__dict__["fingerprint"] = hashlib.sha256(f"{self.fingerprint} {document}".encode()).hexdigest()
        return schema

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the structure; a plan made for one fingerprint never runs on another.

        What is hidden is no part of it: it decides what a name means, and a plan names nothing by a search path. Nor
        are declared keys: they are the policy's word, which the database does not know; nor which foreign keys are
        enforced, since ownership flows along all of them. The state of files is: a plan for one never reads another.
        """
        relations: Mapping[str, Table | View] = {**self.tables, **self.views}
        document = {name: _structure(relation) for name, relation in sorted(relations.items())}
        for relation in document.values():
            table = relation.get("table", relation)
            table.pop("declared_keys")
            table.pop("unproven_keys")
        structure = json.dumps(document, sort_keys=True)
        return hashlib.sha256(f"{structure}{self.version}".encode()).hexdigest()

    def at(self, namespace: str, relation: str) -> Table | None:
        """The table of that name in that schema, and in no other."""
        return self._located.get((namespace, relation))

    def on_path(self, relation: str, search_path: Sequence[str]) -> Table | None:
        """What a name without a schema means: the table of the first schema that has the name, as in PostgreSQL.

        None where no schema has it, or the first that does has no readable table under it.
        """
        name = self.name_on_path(relation, search_path)
        return None if name is None else self.tables.get(name)

    def name_on_path(self, relation: str, search_path: Sequence[str]) -> str | None:
        """The canonical name of what a name without a schema means, be it a table, a view or hidden."""
        for namespace in search_path:
            name = table_name(namespace, relation)
            if name in self.tables or name in self.views or name in self.hidden:
                return name
        return None

    @cached_property
    def _located(self) -> Mapping[tuple[str, str], Table]:
        named = {name_parts(name): table for name, table in self.tables.items()}  # of files all are called public
        return named | {(table.namespace, table.relation): table for table in self.tables.values()}


def _structure(relation: Table | View) -> dict[str, Any]:
    """What a fingerprint is of. That a column is no enum goes without saying.

    Whether a column may hold NaN is no part of it, as constraints are read once; nor then whether it may be NULL.
    """
    structure = asdict(relation)
    for column in structure.get("table", structure)["columns"]:
        column["nullable"] |= column.pop("nan") | column.pop("nan_free")
        if not column["type_name"]:
            del column["type_name"]
    return structure
