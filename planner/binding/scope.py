"""Resolves the names of columns, as PostgreSQL does."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from sqlglot import exp

from planner.binding.bound_query import BoundTable, PersonTable, column_copy, column_type
from planner.errors import (
    AmbiguousColumn,
    InvalidSyntax,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
    did_you_mean,
)
from planner.limits import MAX_TABLES, check_depth
from planner.policy.ownership import ownership
from planner.policy.policy import ColumnPolicy, Policy, TablePolicy
from planner.policy.table_lookup import TableReference, find_table, no_such_table
from planner.schema import Column, ForeignKey, Schema, Table, sql_identifier
from planner.sql.sql_types import SqlType
from planner.sql.trees import LEAVES, bound_column, column_ref, copied, fold, nodes, position_of, rebuilt
from planner.sql.zones import UTC

_MAX_DERIVED_NODES = 4096

AGAIN = "again"
"""Meta key of a table in FROM that repeats an entry, which it holds."""

_ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Func, exp.Boolean, exp.Null)


def table_reference(node: exp.Table) -> TableReference:
    """Return the written parts of a table's name in FROM."""
    database, namespace = node.args.get("catalog"), node.args.get("db")
    return TableReference(
        None if database is None else fold(database), None if namespace is None else fold(namespace), fold(node.this)
    )


class Tables:
    """The base tables of the whole statement, and the size of the expressions that derived columns add."""

    def __init__(
        self,
        schema: Schema,
        policy: Policy,
        search_path: Sequence[str] | None = None,
        proved: Mapping[str, TablePolicy] = MappingProxyType({}),
        zone: str = UTC,
    ) -> None:
        """Start without tables; they are looked up as `planner.policy.table_lookup.find_table` does.

        `proved`: what is proved of the columns of per-person subqueries, by name.
        """
        self.zone = zone
        self._schema = schema
        self._policy = policy
        self._search_path = search_path
        self._proved = proved
        self._nodes = 0
        self._by_alias: dict[str, Table] = {}
        self._aside = self._before = 0
        self._persons: dict[str, tuple[PersonTable, Tables] | None] = {}
        self._literals: set[str] = set()
        self._around: list[BoundTable] | None = None
        self.entries: list[BoundTable] = []
        self.positions: dict[str, int | None] = {}

    def lookup(self, node: exp.Table) -> Table:
        """Return the catalog's table. Raises: UnknownTable, also for a table that the policy does not name."""
        reference = table_reference(node)
        table = find_table(reference, self._schema, self._policy, self._search_path)
        if table is None:
            raise no_such_table(reference, self._schema, self._policy, self._search_path, position_of(node))
        return table

    def add(self, name: str, table: Table, position: int | None) -> BoundTable:
        """Enter a base table under a new alias. Raises: StatementTooComplex."""
        if len(self.entries) + len(self._around or ()) + self._aside >= MAX_TABLES:
            hint = "replace a join that only checks a foreign key by the condition that the key IS NOT NULL"
            raise StatementTooComplex(f"more than {MAX_TABLES} tables", hint=hint, position=position)
        entry = self.enter(name, table, position)
        self.positions[entry.alias] = position
        return entry

    def enter(self, name: str, table: Table, position: int | None = None) -> BoundTable:
        """Enter a base table without a limit on their number."""
        alias = generated_alias(table.relation, len(self.entries))
        if self.is_aside:  # an alias that no table of FROM and no completion has
            alias = f"{alias}_s{self._aside}"
        view = self._schema.views.get(table.name)
        sampled = view is None or view.kind == "materialized view"
        entry = BoundTable(alias, name, table, sampled=sampled, start=position)
        self.entries.append(entry)
        self._by_alias[entry.alias] = table
        return entry

    def add_again(self, name: str, known: BoundTable, position: int | None) -> BoundTable:
        """Enter the table of another entry once more; a subquery keeps its definition, and a list its rows."""
        entry = self.add(name, known.table, position)
        self.entries[-1] = dataclasses.replace(
            entry, person=known.person, rows=known.rows, constants=known.constants, sampled=known.sampled
        )
        return self.entries[-1]

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Enter the tables of a subquery in WHERE apart from FROM; meanwhile `entries` holds only these."""
        assert not self.is_aside, "one subquery of WHERE does not stand in another's"
        around = self._around = self.entries
        self.entries = []
        try:
            yield
        finally:
            self._aside += len(self.entries)
            self._around, self.entries = None, around

    @property
    def is_aside(self) -> bool:
        """Whether the tables being entered belong to a subquery in WHERE."""
        return self._around is not None

    def apart(self) -> Tables:
        """Return an empty collection for a subquery with groups of its own, over the same catalog."""
        tables = Tables(self._schema, self._policy, self._search_path, self._proved, self.zone)
        tables._aside = tables._before = len(self.entries) + len(self._around or ()) + self._aside
        tables._persons, tables._literals = self._persons, self._literals
        return tables

    def add_person(self, written: str | None, position: int | None) -> BoundTable:
        """Enter a per-person subquery without columns, under a unique name based on its name in the statement."""
        taken = {*self._schema.tables, *self._schema.views, *self._schema.hidden, *self._persons}
        stem = written if written and re.fullmatch(r"\w{1,40}", written, re.ASCII) else "subquery"
        names = (
            f"subquery {stem}" if stem != "subquery" else stem,
            *(f"{stem} {n}" for n in range(2, len(taken) + 4)),
        )
        found = next(name for name in names if name not in taken)
        self._persons[found] = None
        return self.add(written or found, Table(found, "", (), (), ()), position)

    def proved(self, entry: BoundTable) -> Mapping[str, ColumnPolicy]:
        """Return the proved facts about a per-person subquery's columns; none when it is bound for the first time."""
        known = self._proved.get(entry.table.name)
        return {} if known is None else known.columns

    def complete_person(self, entry: BoundTable, person: PersonTable, within: Sequence[Tables]) -> None:
        """Complete a per-person subquery. Its keys and owners are left to `planner.planning.person_tables`.

        `within`: the tables of each SELECT of its definition, which count towards the statement's limit with those of
        subqueries inside.
        """
        table = dataclasses.replace(entry.table, columns=tuple(one.column for one in person.columns))
        assert len({column.name for column in table.columns}) == len(table.columns), "each has a name of its own"
        self._persons[table.name] = person, within[0]
        self._by_alias[entry.alias] = table
        self._aside += sum(len(tables.entries) + tables._aside - tables._before for tables in within)
        made = dataclasses.replace(entry, table=table, person=person, sampled=False)
        self.entries[self.entries.index(entry)] = made

    def complete_literals(self, entry: BoundTable, table: Table, rows: exp.Select, most: int) -> None:
        """Complete the entry of a public table of `most` rows of constants."""
        self._literals.add(table.name)
        self._by_alias[entry.alias] = table
        made = dataclasses.replace(entry, table=table, rows=rows, constants=most, sampled=False)
        self.entries[self.entries.index(entry)] = made

    def names_a_person(self, columns: Collection[exp.Column]) -> bool:
        """Do bound columns include the whole key of a person, of an owned row, or of a reference to the owner?

        Columns that the policy declares to determine the owner count, too.
        """
        graph = ownership(self._schema, self._policy)
        held: dict[str, set[str]] = {}
        for alias, name in map(column_ref, columns):
            held.setdefault(alias, set()).add(name)
        for alias, names in held.items():
            table = self._by_alias[alias]
            made = self._persons.get(table.name)
            if made is not None:
                person, within = made
                led = [one.key for one in person.columns if one.key is not None and one.column.name in names]
                if within.names_a_person([bound_column(*column) for column in led]):
                    return True
                continue
            if not graph.is_owned(table.name):
                continue
            leading = [key.columns for key in graph.owning_keys(table.name)]
            leading += graph.keys_of_one_owner(table.name)
            if any(names.issuperset(key) for key in (*table.keys, *leading, graph.unit_key(table.name)) if key):
                return True
        return False

    def written_type(self, column: exp.Column) -> str:
        """Return the database's name for the type of a bound column."""
        return self.catalog_column(column).type

    def catalog_column(self, column: exp.Column) -> Column:
        """Return the catalog's column of a bound column."""
        alias, name = column_ref(column)
        found = self._by_alias[alias].column(name)
        assert found is not None, "bound columns exist"
        return found

    def replace(self, index: int, entry: BoundTable) -> None:
        """Replace an entry that keeps its alias and table."""
        self.entries[index] = entry

    @property
    def databases(self) -> tuple[str, str]:
        """The names of the database that may stand before a schema."""
        return self._policy.name, self._schema.database

    def is_public(self, table: Table) -> bool:
        """Whether the policy declares the table public, or it holds constants, or groups of such tables only."""
        made = self._persons.get(table.name)
        if made is None:
            return table.name in self._literals or self._policy.is_public(table.name)
        return made[0].partitions is None and all(self.is_public(entry.table) for entry in made[0].query.all_tables)

    def text_forms(self, table: str, name: str) -> tuple[str, ...]:
        """The forms of the dates that a column's texts hold; none for any other column."""
        return self._policy.column(table, name).forms

    def keys_to_owners(self, table: Table) -> tuple[ForeignKey, ...]:
        """Return the foreign keys whose missing parent leaves a row out of every answer."""
        graph = ownership(self._schema, self._policy)
        if graph.orphan_key(table.name) is not None:
            return ()
        return tuple(key for key in graph.owning_keys(table.name) if graph.depth(table.name, key) is None)

    def public_primary_key(self, column: exp.Column) -> tuple[str, ...] | None:
        """Return the primary key of a bound column's table; None without one, or if the table is private."""
        table = self._by_alias[column_ref(column)[0]]
        return table.primary_key if self.is_public(table) else None

    def type_of(self, column: exp.Column) -> SqlType:
        """Return the type of a bound column."""
        alias, name = column_ref(column)
        return column_type(self._by_alias[alias], name)

    def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
        """Return a bound column's name with its table, for messages, and its policy."""
        alias, name = column_ref(column)
        table = self._by_alias[alias].name
        if table in self._persons and table not in self._literals:
            made = self._persons[table]
            found = next((one for one in made[0].columns if one.column.name == name), None) if made else None
            return f"{found.label if found else name} of {table}", found.declared if found else ColumnPolicy()
        return f"{table}.{name}", self._policy.column(table, name)

    def may_be_null(self, column: exp.Column) -> bool:
        """Whether a bound column may be NULL in some join tuple."""
        entries = (*self.entries, *(self._around or ()))
        outer = any(entry.alias == column.table and entry.outer is not None for entry in entries)
        return outer or self.nullable(column)

    def nullable(self, column: exp.Column) -> bool:
        """Whether a bound column may be NULL in its own table."""
        found = self._by_alias[column.table].column(column.name)
        assert found is not None, "bound columns exist"
        return found.nullable

    def expand(self, derived: exp.Expr, position: int | None) -> exp.Expr:
        """Copy a derived column's expression. Raises: StatementTooComplex, since copies of copies grow fast."""
        self._nodes += len(nodes(derived))
        if self._nodes > _MAX_DERIVED_NODES:
            hint = "name fewer computed columns inside FROM"
            raise StatementTooComplex("the computed columns of FROM are too long", hint=hint, position=position)
        copy = copied(derived)
        return copy if isinstance(copy, _ATOMS) else exp.Paren(this=copy)


Meaning = exp.Expr | tuple[str, str]
"""What a name means: an expression over bound columns, or the (alias, name) of a base table's column."""


@dataclass(frozen=True)
class Source:
    """One item of FROM under the analyst's name; None for a subquery without a name.

    Attributes:
      schemas: the names of the schema of a base table or view, which may stand before its name.
      columns: the meaning of each name; None for a repeated name.
      first, last: the range of its base tables among the statement's.
    """

    name: str | None
    schemas: tuple[str, ...]
    columns: Mapping[str, Meaning | None]
    first: int
    last: int

    @cached_property
    def is_derived(self) -> bool:
        """Whether one of the item's column names may mean an expression."""
        return any(isinstance(meaning, exp.Expr) for meaning in self.columns.values())


class Scope:
    """The names that one SELECT sees: its FROM, and the columns that USING merges.

    Attributes:
      subquery: binds a subquery in an expression to its value (`planner.binding.subquery_values`).
    """

    def __init__(self, tables: Tables, around: Scope | None = None) -> None:
        self._tables = tables
        self._around = around
        self.zone, self.type_of, self.written_type = tables.zone, tables.type_of, tables.written_type
        self.declared, self.may_be_null = tables.declared, tables.may_be_null
        self.public_primary_key = tables.public_primary_key
        self.subquery: Callable[[exp.Expr], exp.Expr] | None = None
        self._hidden: set[tuple[int, str]] = set()
        self.sources: list[Source] = []

    @property
    def tables(self) -> list[BoundTable]:
        """The base tables of the whole statement so far."""
        return self._tables.entries

    def entries(self, sources: Iterable[Source]) -> list[BoundTable]:
        """List the base tables behind items of FROM, each once."""
        found = dict.fromkeys(index for source in sources for index in range(source.first, source.last))
        return [self.tables[index] for index in found]

    def add(self, source: Source, position: int | None) -> Source:
        """Enter an item of FROM. Raises: InvalidSyntax if two share a name, unless they are tables of two schemas."""
        if source.name is not None and any(_clash(source, other) for other in self.sources):
            hint = "give each table of a self-join its own alias"
            raise InvalidSyntax(f"table name {source.name!r} occurs twice in FROM", hint=hint, position=position)
        self.sources.append(source)
        return source

    def merged(self, join: exp.Join, tree: Sequence[Source], right: Sequence[Source]) -> list[exp.EQ]:
        """Return the equalities of USING or NATURAL. From then on each name means the left column.

        Raises: UnknownColumn, AmbiguousColumn.
        """
        using = [(fold(name), position_of(name)) for name in join.args.get("using") or []]
        if join.args.get("method") == "NATURAL":
            shared, position = set(self.visible(tree)), position_of(join)
            using = [(name, position) for name in dict.fromkeys(self.visible(right)) if name in shared]
        return [self._merged(name, tree, right, position) for name, position in using]

    def _merged(self, name: str, tree: Sequence[Source], right: Sequence[Source], position: int | None) -> exp.EQ:
        for side, sources in ("left", tree), ("right", right):
            if name not in self.visible(sources):
                reason = f"the {side} side of JOIN ... USING has no column {name!r}"
                raise UnknownColumn(reason, hint="write ON with the two columns that are equal", position=position)
        left, other = (self.unqualified(name, sources, position) for sources in (tree, right))
        self._hidden.update((id(source), name) for source in right)
        return exp.EQ(this=left, expression=other)

    def hide(self, sources: Iterable[Source], names: Collection[str]) -> None:
        """Let names without a table mean no column of these items."""
        self._hidden.update((id(source), name) for source in sources for name in names)

    def meaning(self, name: str) -> Meaning | None:
        """Return what a name without a table means. Raises: as `unqualified`."""
        found = self.unqualified(name, self.sources, None)
        return column_ref(found) if isinstance(found, exp.Column) else found

    def visible(self, sources: Iterable[Source]) -> list[str]:
        """List the names that `*` shows, in order."""
        return [name for source in sources for name in source.columns if (id(source), name) not in self._hidden]

    def resolve(self, column: exp.Column, among: Sequence[Source] | None = None) -> exp.Expr:
        """Resolve a column name to a bound column, or to the expression of a subquery's column over bound columns.

        A bound column resolves to itself, not a copy. In a subquery of WHERE, unknown names are looked up in the
        SELECT around it.

        Raises: UnknownTable, UnknownColumn, AmbiguousColumn.
        """
        if column.meta.get("bound"):
            return column
        unknown = UnknownColumn if column.args.get("table") is None else UnknownTable
        try:
            return self._resolve(column, among)
        except unknown:
            if self._around is None:
                raise
            try:
                return self._around.resolve(column)
            except unknown:
                pass
            raise

    def _resolve(self, column: exp.Column, among: Sequence[Source] | None) -> exp.Expr:
        if not isinstance(column.this, exp.Identifier):
            raise UnsupportedSQL("* is not supported here", hint="name the columns", at=column)
        name, position = fold(column.this), position_of(column)
        sources = self.sources if among is None else among
        if column.args.get("table") is not None:
            return self._column(self._qualified(column, sources), name, position)
        return self.unqualified(name, sources, position, quoted=bool(column.this.args.get("quoted")))

    def unqualified(
        self, name: str, sources: Sequence[Source], position: int | None, *, quoted: bool = False
    ) -> exp.Expr:
        """Resolve a folded name without a table; merged columns count once.

        `quoted`: was it written in quotes?

        Raises: AmbiguousColumn, UnknownColumn.
        """
        found = [s for s in sources if name in s.columns and (id(s), name) not in self._hidden]
        if not found:
            hint = did_you_mean(name, self.visible(sources))
            if quoted:
                hint = "a text goes in single quotes: '...'" + (f"; {hint}" if hint else "")
            elif hint is None:
                hint = "name a column of a table in FROM; a text goes in single quotes: '...'"
            raise UnknownColumn(f"no table of the query has a column {name!r}", hint=hint, position=position)
        if len(found) > 1:
            hint = "put the table's name and a dot before it"
            raise AmbiguousColumn(f"several tables have a column {name!r}", hint=hint, position=position)
        return self._column(found[0], name, position)

    def bind(self, node: exp.Expr, among: Sequence[Source] | None = None) -> exp.Expr:
        """Copy an expression with every column bound. Raises: as `resolve`; StatementTooComplex."""
        bound = self._bind(node, among)
        if any(source.is_derived for source in self.sources):
            check_depth(bound)
        return bound

    def star(self, node: exp.Expr) -> list[tuple[str, Meaning | None]]:
        """List the columns of `*` or `table.*`."""
        if isinstance(node, exp.Column):
            return list(self._qualified(node, self.sources).columns.items())
        return [
            (name, meaning)
            for source in self.sources
            for name, meaning in source.columns.items()
            if (id(source), name) not in self._hidden
        ]

    def _counted_rows(self, node: exp.Count) -> exp.Expr:
        """Write COUNT(t.*) as COUNT(*): a row is never NULL, except one that an outer join misses."""
        source = self._qualified(node.this, self.sources)
        if any(entry.outer is not None for entry in self.entries([source])):
            hint = "count a column of it that is never NULL"
            raise UnsupportedSQL(
                "COUNT(t.*) of a table that an outer join may miss is not supported", hint=hint, at=node
            )
        counted = exp.Count(this=exp.Star(), big_int=True)
        counted.meta.update(node.meta)
        return counted

    def _bind(self, node: exp.Expr, among: Sequence[Source] | None) -> exp.Expr:
        if isinstance(node, exp.Column):
            found = self.resolve(node, among)
            return _marked(column_copy(node)) if found is node else found
        if isinstance(node, exp.Connector):
            return self._bind_chain(node, among)
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Column) and isinstance(node.this.this, exp.Star):
            return self._counted_rows(node)
        if type(node) in LEAVES:
            return node
        if is_subquery(node) and self.subquery is not None:
            return self.subquery(node)
        return rebuilt(node, lambda part: self._bind(part, among))

    def _bind_chain(self, node: exp.Expr, among: Sequence[Source] | None) -> exp.Expr:
        """Bind `a AND b AND ...` without recursion along the chain."""
        chain = []
        while isinstance(node, exp.Connector):
            chain.append(node)
            node = node.this
        bound = self._bind(node, among)
        for link in reversed(chain):
            bound = type(link)(this=bound, expression=self._bind(link.expression, among))
        return bound

    def _qualified(self, column: exp.Column, sources: Sequence[Source]) -> Source:
        qualifier = fold(column.args["table"])
        written, database = column.args.get("db"), column.args.get("catalog")
        namespace = None if written is None else fold(written)
        here = database is None or fold(database) in self._tables.databases
        named = [source for source in sources if source.name == qualifier]
        found = [source for source in named if here and (namespace is None or namespace in source.schemas)]
        if len(found) > 1:
            advice = "put the schema and a dot before it, or give the tables aliases"
            raise AmbiguousColumn(f"several tables are named {qualifier!r}", hint=advice, at=column)
        if found:
            return found[0]
        hint = did_you_mean(qualifier, [source.name for source in sources if source.name is not None])
        if hint is None or not all(source.schemas for source in sources):
            hint = "if the table has an alias, use the alias"
        elif named:
            qualifier, hint = f"{namespace}.{qualifier}", f"write {sql_identifier(qualifier)} without a schema"
        raise UnknownTable(f"FROM has no table {qualifier!r}", hint=hint, at=column)

    def _column(self, source: Source, name: str, position: int | None) -> exp.Expr:
        if name not in source.columns:
            hint = did_you_mean(name, source.columns)
            raise UnknownColumn(f"{source.name!r} has no column {name!r}", hint=hint, position=position)
        found = source.columns[name]
        if found is None:
            hint = "give its columns different aliases"
            raise AmbiguousColumn(
                f"several columns of {source.name!r} are named {name!r}", hint=hint, position=position
            )
        if isinstance(found, exp.Expr):
            return self._tables.expand(found, position)
        column = _marked(bound_column(*found))
        if position is not None:
            column.meta["start"] = position - 1
        return column


def _clash(one: Source, other: Source) -> bool:
    """Do two items of FROM share a name? Tables without aliases may differ by schema."""
    if one.name != other.name:
        return False
    return not (one.schemas and other.schemas) or not set(one.schemas).isdisjoint(other.schemas)


def is_subquery(node: exp.Expr) -> bool:
    """Is it a scalar subquery, EXISTS, or IN with a subquery?"""
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Exists) or (isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query))


def _marked(column: exp.Column) -> exp.Column:
    """Mark a column as bound, since the analyst may write the same alias as the rewriting."""
    column.meta["bound"] = True
    return column


def generated_alias(table: str, index: int) -> str:
    """Return a unique alias: plain names stay readable, others could exceed 63 bytes."""
    stem = table if re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", table) else "t"
    return f"{stem}_{index}"
