"""The catalog as the planner sees it: structure only, never a value or a row count.

The canonical name of a table of schema `public` is its own name; any other is `schema.name`. A part with a dot, or
with a leading double quote, stands in double quotes, so names are unique: `a.b` is table b of schema a, and `"a.b"` a
table of `public`. Nothing else is quoted or folded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

Dialect = Literal["postgres", "duckdb", "mirror", "practice", "spark"]


PUBLIC = "public"
"""The schema whose tables have canonical names without a schema."""

_PART = r'"(?:[^"]|"")+"|[^".][^.]*'
_NAME = re.compile(rf"(?:(?P<namespace>{_PART})\.)?(?P<relation>{_PART})")
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def table_name(namespace: str, relation: str) -> str:
    """Return the canonical name of a table.

    >>> table_name("public", "visit"), table_name("clinic", "visit"), table_name("public", "a.b")
    ('visit', 'clinic.visit', '"a.b"')
    """
    return _part(relation) if namespace == PUBLIC else f"{_part(namespace)}.{_part(relation)}"


def name_parts(name: str, namespace: str = PUBLIC) -> tuple[str, str]:
    """Split a name into schema and table; `namespace` is the default schema.

    Raises: ValueError for a third part, an empty part, or an unclosed quote.

    >>> name_parts("visit"), name_parts("clinic.visit"), name_parts('"a.b"'), name_parts("visit", "clinic")
    (('public', 'visit'), ('clinic', 'visit'), ('public', 'a.b'), ('clinic', 'visit'))
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is not a valid table name")
    written = found["namespace"]
    return namespace if written is None else _plain(written), _plain(found["relation"])


def sql_name(name: str) -> str:
    """Return a canonical name as SQL, in quotes where PostgreSQL would fold it or not read it.

    >>> sql_name("clinic.visit"), sql_name("Ward"), sql_name('"a.b"')
    ('clinic.visit', '"Ward"', '"a.b"')
    """
    namespace, relation = name_parts(name)
    parts = (relation,) if namespace == PUBLIC else (namespace, relation)
    return ".".join(map(sql_identifier, parts))


def sql_identifier(name: str) -> str:
    """Return an identifier as SQL, in quotes if needed. Reserved words are not quoted.

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
    """A column, with the database's name of its type (`bigint`, `numeric(15,2)`).

    Attributes:
      nullable: whether the column may hold NULL, or NaN, which counts as NULL.
      nan: whether the column may hold NaN (not a number). Rewritten statements read NaN as NULL
        (`planner.rewriting.read_nan_as_null`). False for columns of keys, where NaN is a value like any other.
      nan_free: whether a constraint of the database keeps NaN out, although the type has it.
      type_name: for an enum, the canonical name of its type; empty if the database does not say.
    """

    name: str
    type: str
    nullable: bool
    nan: bool = False
    type_name: str = ""
    nan_free: bool = False

    def __post_init__(self) -> None:
        """A column that may be NaN may be missing."""
        assert self.nullable or not self.nan, "what may be NaN may be missing"


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of the table that holds it reference `key` of table `references`."""

    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]

    @property
    def pairs(self) -> tuple[str, frozenset[tuple[str, str]]]:
        """A form of the key in which the order of its columns does not matter, for comparisons."""
        return self.references, frozenset(zip(self.columns, self.key, strict=True))


@dataclass(frozen=True)
class Table:
    """A table with its enforced constraints.

    Attributes:
      name: its canonical, unique name.
      namespace: its schema (`public`).
      unique_keys: the enforced primary and unique keys, without partial and deferrable ones.
      foreign_keys: all that the catalog declares, enforced or not; one may reference a table outside the schema.
      primary_key: the primary key among `unique_keys`, or None. Other columns depend on it functionally in GROUP BY,
        and its columns are never NULL.
      declared_keys: unique keys that the policy declares and no constraint enforces (`planner.policy.declared`). They
        are no part of the structure.
      unproven_keys: those of `foreign_keys` that the database does not enforce for every row (NOT VALID), so rows may
        reference nothing. No plan relies on them, and they are no part of the structure.
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
    def schemas(self) -> tuple[str, ...]:
        """The names of its schema: tables of files are in `public` too."""
        return tuple(dict.fromkeys((self.namespace, name_parts(self.name)[0])))

    @property
    def is_released(self) -> bool:
        """Does it hold released values of one statement? Its rows are not known yet, and no database has it."""
        return not self.namespace

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """All keys that identify at most one row: the enforced ones, then the declared ones."""
        return (*self.unique_keys, *self.declared_keys)

    def enforces(self, key: ForeignKey) -> bool:
        """Whether the database ensures that every row's foreign key references a row, unless a column is NULL."""
        return key in self.foreign_keys and key not in self.unproven_keys

    @cached_property
    def relation(self) -> str:
        """The table's own name within its schema."""
        return name_parts(self.name)[1]

    def column(self, name: str) -> Column | None:
        """Return the column of that name, or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.columns)}


STORED = frozenset({"materialized view", "foreign table"})
"""The kinds of views whose rows are stored, not computed when they are queried."""


OF_FILE = "view of DuckDB"
"""The kind of a view whose definition is in DuckDB's SQL, which is not read."""


@dataclass(frozen=True)
class View:
    """A relation whose rows are a query's, or another database's.

    Attributes:
      table: its name and columns, and the keys that a materialized one enforces.
      kind: the database's word: `view`, `materialized view`, `foreign table`.
      definition: the query in the database's spelling, with a schema before every name; None if it cannot be read.
      reads: the canonical names of the relations in the query.
    """

    table: Table
    kind: str
    definition: str | None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """All relations that the proxy's role may read in the policy's schemas, by canonical name.

    Attributes:
      tables: relations with rows of their own, and views that the policy declares as tables.
      views: all views.
      hidden: other names in these schemas, such as tables that the role may not read. In SQL they hide later schemas
        of the search path.
      database: the database's name, which may stand before a schema's; empty without one.
      version: for a database of files, the state of the files; otherwise empty.
    """

    tables: Mapping[str, Table]
    views: Mapping[str, View] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    database: str = ""
    version: str = ""

    def declaring(self, names: Iterable[str]) -> Schema:
        """Return the schema with each view of `names` as a table; the fingerprint stays."""
        declared = {name: self.views[name].table for name in names if name in self.views}
        return replace(self, tables={**self.tables, **declared}) if declared else self

    def released(self, tables: Iterable[Table]) -> Schema:
        """Return the schema with tables of released values; the fingerprint stays, because no database has them."""
        schema = replace(self, tables={**self.tables, **{table.name: table for table in tables}})
        schema.__dict__["fingerprint"] = self.fingerprint
        return schema

    def beside(self, tables: Mapping[str, Table]) -> Schema:
        """Return the schema with tables that stand for rows of one question, and a new fingerprint."""
        schema = replace(self, tables={**self.tables, **tables})
        document = json.dumps([_structure(table) for _, table in sorted(tables.items())], sort_keys=True)
        schema.__dict__["fingerprint"] = hashlib.sha256(f"{self.fingerprint} {document}".encode()).hexdigest()
        return schema

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the structure; a plan made for one fingerprint never runs on another.

        Hidden names are not included: they decide what a name means, and a plan uses no search path. Neither are
        declared keys, which only the policy knows, nor whether foreign keys are enforced. The state of files is
        included.
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
        """Return the table of that name in that schema, or None."""
        return self._located.get((namespace, relation))

    def on_path(self, relation: str, search_path: Sequence[str]) -> Table | None:
        """Return the table of the first schema that has the name, as PostgreSQL does.

        It is None if no schema has the name, or if the first one has no readable table of that name.
        """
        name = self.name_on_path(relation, search_path)
        return None if name is None else self.tables.get(name)

    def name_on_path(self, relation: str, search_path: Sequence[str]) -> str | None:
        """Return the canonical name that a name without a schema means: a table, a view or a hidden relation.

        Tables of released values have no schema and come first.
        """
        if ("", relation) in self._located:
            return relation
        for namespace in search_path:
            name = table_name(namespace, relation)
            if name in self.tables or name in self.views or name in self.hidden:
                return name
        return None

    @cached_property
    def _located(self) -> Mapping[tuple[str, str], Table]:
        named = {
            name_parts(name): table for name, table in self.tables.items()
        }  # tables of files are all called public
        return named | {(table.namespace, table.relation): table for table in self.tables.values()}


def _structure(relation: Table | View) -> dict[str, Any]:
    """Return the document behind a fingerprint, without empty enum names.

    NaN and NULL by constraints are left out, since constraints are read once.
    """
    structure = asdict(relation)
    for column in structure.get("table", structure)["columns"]:
        column["nullable"] |= column.pop("nan") | column.pop("nan_free")
        if not column["type_name"]:
            del column["type_name"]
    return structure
