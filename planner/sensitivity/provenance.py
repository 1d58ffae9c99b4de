"""The owners of a join tuple: the union over all of its base rows, each found with as few joins as possible.

An owner's key has one SQL form, the same for every column that can hold it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.binding.scope import generated_alias
from planner.errors import PolicyInvalid, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_TABLES
from planner.plan import Owner
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.schema import ForeignKey, Schema, Table
from planner.sensitivity.column_equalities import Equalities, equal_columns, fixed_columns, known_columns
from planner.sql.sql_types import canonical_cast, sql_type
from planner.sql.trees import ColumnRef, behind_length, bound_column, cast_sql, column_ref, columns_of, joined_texts


@dataclass(frozen=True)
class OwnerPosition:
    """Where a join tuple holds the key of a privacy unit, in the order of the policy.

    `orphan_of`: for a row that is a unit if nobody else owns it, the columns of its owning foreign keys. It owns the
    tuple only if each of these groups has a NULL. Empty for other units.
    """

    relation: str
    columns: tuple[ColumnRef, ...]
    orphan_of: tuple[tuple[ColumnRef, ...], ...] = ()


@dataclass(frozen=True)
class Provenance:
    """Who owns a tuple: distinct positions in the order of FROM, the parents to join for them, closed equalities.

    `ends`: foreign keys that the policy follows no further; rows that still reference something there are left out.
    """

    owners: tuple[OwnerPosition, ...]
    completions: tuple[Completion, ...]
    ends: tuple[tuple[ColumnRef, ...], ...]
    equalities: Equalities

    @property
    def at_most_one_owner(self) -> bool:
        """Can no tuple have two owners?

        Yes for one position, and for a row of its own beside the owner of a foreign key of that row: the row owns the
        tuple only if the key has a NULL, so that nobody else does.
        """
        held = [tuple(map(self.equalities.find, owner.columns)) for owner in self.owners]
        lone = [{tuple(map(self.equalities.find, one)) for one in owner.orphan_of} for owner in self.owners]
        pairs = itertools.combinations(range(len(held)), 2)
        return all(held[i] in lone[j] or held[j] in lone[i] for i, j in pairs)


def provenance(query: BoundQuery, schema: Schema, policy: Policy, taken: Collection[str] = ()) -> Provenance:
    """Find the owners of every base row of a join. Linear in base rows times ownership paths.

    `taken`: aliases of rows outside of it that will stand beside it; no joined parent gets one of them.

    Raises: UnsupportedSQL if every table is public, or a public view reads owned rows; SensitivityUnbounded if a
      private table has no owner.
    """
    graph = ownership(schema, policy)
    if graph.cycles():
        raise PolicyInvalid("the policy leaves a circle of ownership")
    private = _with_owners(query, policy)
    if not private:
        raise UnsupportedSQL(
            "the query reads only public tables, so it needs no noise", hint="it is answered exactly"
        )
    check_not_owned(query.all_tables, graph, policy)
    check_owned(private, graph)
    search = _Search(schema, graph, join_equalities(query), taken)
    search.begin(private)
    for entry in private:
        search.visit(entry.alias, entry.table)
    return search.result()


def check_not_owned(entries: Sequence[BoundTable], graph: Ownership, policy: Policy) -> None:
    """Refuse public views that may read owned rows. Raises: UnsupportedSQL."""
    for entry in entries:
        if policy.is_public(entry.table.name) and graph.may_show_owned(entry.table.name):
            hint = "query it alone; or the administrator makes it a table or a materialized view"
            message = f"the view {entry.table.name!r} may be computed from owned rows"
            raise UnsupportedSQL(f"{message}, so it cannot be joined with private tables", hint=hint)


def check_owned(entries: Sequence[BoundTable], graph: Ownership) -> None:
    """Refuse private tables without a path to a unit. Raises: SensitivityUnbounded."""
    for entry in entries:
        if not graph.is_owned(entry.table.name):
            hint = "the administrator can declare it public, or declare a foreign key that leads to its owner"
            raise SensitivityUnbounded(f"table {entry.table.name!r} is private and has no owner", hint=hint)


def _with_owners(query: BoundQuery, policy: Policy) -> list[BoundTable]:
    """The private rows of a tuple that decide its owners.

    Optional rows are left out: their owners are among those of the others (`planner.sensitivity.own_rows`).
    """
    return [entry for entry in query.tables if not policy.is_public(entry.table.name) and not entry.optional]


def owners_beside(
    query: BoundQuery, found: Provenance, more: Sequence[BoundTable], schema: Schema, policy: Policy
) -> Provenance:
    """The owners of further private rows beside a tuple, if the query's conditions hold.

    Args:
      query: the tuple's own tables and the further ones, all present, with the conditions of both.
      found: the provenance of the tuple alone, whose joined parents are beside the rows, too.
    Returns: the positions of their owners, and the parents that only they need.
    """
    equalities = join_equalities(query)
    for completion in found.completions:
        enter_parent(equalities, completion)
    equalities.close()
    search = _Search(schema, ownership(schema, policy), equalities)
    added = [BoundTable(one.alias, one.alias, one.table) for one in found.completions]
    search.begin([*_with_owners(query, policy), *added])
    for entry in more:
        search.visit(entry.alias, entry.table)
    return search.result()


def enter_parent(equalities: Equalities, completion: Completion) -> None:
    """Add the row of a joined parent, and the equalities of its join."""
    key, child = completion.key, completion.child
    equalities.add(completion.alias, completion.table, always_present=not completion.nullable)
    if len(key.columns) == 1 or not completion.nullable:  # with one part NULL, the other parts have no partner
        for name, above in zip(key.columns, key.key, strict=True):
            equalities.equate((child, name), (completion.alias, above), known=False)


def join_equalities(query: BoundQuery) -> Equalities:
    """The classes of equal columns that a query's conditions prove (`planner.sensitivity.column_equalities`)."""
    equalities = Equalities()
    for entry in query.tables:
        equalities.add(entry.alias, entry.table, always_present=entry.outer is None)
    for left, right in equal_columns(query.predicates, query):
        equalities.equate(left, right, known=True)
    for column in known_columns(query):
        equalities.know(column)
    for column, value in fixed_columns(query):
        equalities.fix(column, value)
    for entry in query.tables:
        columns = _lookup(entry, query)
        if columns is not None:
            equalities.look_up(entry.alias, columns)
    equalities.close()
    return equalities


def _lookup(entry: BoundTable, query: BoundQuery) -> tuple[ColumnRef, ...] | None:
    """The columns of other tables that decide which row a LEFT JOIN finds; None if it may find several."""
    if entry.outer is None or entry.optional:  # what a private row says, or that there is none, may change
        return None
    columns = (column_ref(column) for condition in entry.outer for column in columns_of(condition))
    read = dict.fromkeys(column for column in columns if column[0] != entry.alias)
    pairs = [pair for pair in equal_columns(entry.outer, query) if pair[0][0] != pair[1][0]]
    found = {name for pair in pairs for alias, name in pair if alias == entry.alias}
    unique = any(found.issuperset(key) for key in entry.table.keys)
    return tuple(read) if unique else None


_Steps = Mapping[tuple[str, ForeignKey], int]
"""The most often that a chain of references to a row has followed each foreign key of limited depth."""

_MAX_ROWS = 2 * MAX_TABLES
"""The most rows of one tuple, joined parents included."""


class _Search:
    """Walks up the owning keys from each base row.

    A row r *stands* if every chain of references upward from r ends in a NULL or a unit's key. The chain must meet
    only rows that exist, and follow no foreign key of depth d more than d times. That depends on r and the rows above
    it only. A tuple is kept exactly if all of its private base rows stand. A chain may run through rows that FROM
    names. So these rows inherit how often it has followed each key (`_steps`), the most of all chains. If that is d
    already, the next reference must be NULL (`ends`).

    Proof of T = T' + D (docs/mathematics.md, section 1.4), for I' as I without some or all of the rows that u owns:

    1. If a row above r is u's, so is r, since ownership flows down along the same keys. So the rows above a row that
       is not u's are the same in I and I', and it stands in both or in neither.
    2. A row that stands in I' stands in I: all rows above it exist in I', so they are those above it in I. (Removing
       one of them never makes a chain short enough: the reference to it then leads nowhere.)
    3. Hence T' is a part of T. A tuple of T outside T' has a base row r that is gone, or no longer stands because a
       row above it is gone. Either way r is u's. As r stands in I, each chain from it was walked to its end, and the
       tuple shows u among its owners.

    `rows_per_unit` counts the standing rows that one unit owns, by this search with the one table in FROM. Since
    standing does not depend on the query, no tuple holds any others.
    """

    def __init__(self, schema: Schema, graph: Ownership, equalities: Equalities, taken: Collection[str] = ()) -> None:
        self._schema = schema
        self._taken = taken
        self._ownership = graph
        self._equalities = equalities
        self._owners: list[OwnerPosition] = []
        self._completions: list[Completion] = []
        self._parents: dict[tuple[str, ForeignKey], str] = {}
        self._ends: dict[tuple[ColumnRef, ...], ForeignKey] = {}
        self._steps: dict[str, dict[tuple[str, ForeignKey], int]] = {}
        self._visited: set[str] = set()

    def result(self) -> Provenance:
        """The distinct owners; two positions with equal columns are one."""
        first: dict[object, OwnerPosition] = {}
        for owner in self._owners:
            first.setdefault((owner.relation, self._classes(owner.columns), owner.orphan_of), owner)
        return Provenance(tuple(first.values()), tuple(self._completions), tuple(self._ends), self._equalities)

    def begin(self, entries: Sequence[BoundTable]) -> None:
        """Find all chains among the rows of FROM, before any parent beyond them is joined."""
        self._steps = {entry.alias: {} for entry in entries}
        for entry in entries:
            self._lead_on(entry.alias, entry.table)

    def visit(self, alias: str, table: Table) -> None:
        """Collect the owners of one row."""
        self._visited.add(alias)
        unit_key, row_key = self._ownership.unit_key(table.name), self._ownership.orphan_key(table.name)
        keys = self._ownership.owning_keys(table.name)
        if unit_key is not None:
            self._owners.append(OwnerPosition(table.name, tuple((alias, name) for name in unit_key)))
        if row_key is not None:
            references = tuple(tuple((alias, name) for name in key.columns) for key in keys)
            if not any(all(map(self._equalities.known, columns)) for columns in references):
                columns = tuple((alias, name) for name in row_key)
                self._owners.append(OwnerPosition(table.name, columns, references))
        for key in keys:
            self._follow(alias, table, key)

    def _classes(self, columns: tuple[ColumnRef, ...]) -> tuple[ColumnRef, ...]:
        return tuple(map(self._equalities.find, columns))

    def _longer(self, alias: str, table: Table, key: ForeignKey) -> _Steps | None:
        """The steps of the chains to this row, extended by the foreign key; None if one has reached its depth.

        A chain longer than the rows of a tuple runs in a circle, which is deeper than any depth.
        """
        steps, depth = self._steps.get(alias, {}), self._ownership.depth(table.name, key)
        if depth is None:
            return steps
        times = steps.get((table.name, key), 0)
        return None if times >= min(depth, _MAX_ROWS) else {**steps, (table.name, key): times + 1}

    def _reach(self, alias: str, table: Table, steps: _Steps) -> None:
        """Record that chains lead to this row; those that go on from it become longer by as much.

        It ends, since each call but the last raises a number that never exceeds _MAX_ROWS.
        """
        known = self._steps[alias]
        raised = {key: times for key, times in steps.items() if times > known.get(key, 0)}
        known.update(raised)
        if raised and alias in self._visited:
            self.visit(alias, table)
        elif raised:
            self._lead_on(alias, table)

    def _lead_on(self, alias: str, table: Table) -> None:
        for key in self._ownership.owning_keys(table.name):
            steps, parent = self._longer(alias, table, key), self._parent(alias, key)
            if steps is not None and parent is not None:
                self._reach(parent, self._schema.tables[key.references], steps)

    def _follow(self, alias: str, table: Table, key: ForeignKey) -> None:
        """The owners behind one foreign key; its own columns if they hold a unit's key and nothing is above."""
        columns = tuple((alias, name) for name in key.columns)
        steps, classes = self._longer(alias, table, key), self._classes(columns)
        if steps is None:
            self._ends[columns] = key
            return
        if any(other == key and self._classes(end) == classes for end, other in self._ends.items()):
            return  # the same reference of a row by another name: it is NULL
        parent = self._schema.tables[key.references]
        unit_key = self._ownership.unit_key(parent.name) or self._ownership.orphan_key(parent.name)
        above = dict(zip(key.key, key.columns, strict=True))
        if unit_key is not None and set(unit_key) == set(above) and not self._ownership.owning_keys(parent.name):
            self._owners.append(OwnerPosition(parent.name, tuple((alias, above[name]) for name in unit_key)))
        elif (joined := self._parent(alias, key)) is not None:
            self._reach(joined, parent, steps)
        else:
            self._complete(alias, key, parent, steps)

    def _parent(self, alias: str, key: ForeignKey) -> str | None:
        """The parent's row if it is already in the tuple, where its owners are counted."""
        if (alias, key) in self._parents:
            return self._parents[alias, key]
        parent, pairs = self._schema.tables[key.references], list(zip(key.columns, key.key, strict=True))
        for other, table in self._equalities.tables.items():
            if other not in self._steps:  # an optional row, which may not be there
                continue
            if table == parent and all(self._equalities.same((alias, name), (other, above)) for name, above in pairs):
                return other
        return None

    def _complete(self, alias: str, key: ForeignKey, parent: Table, steps: _Steps) -> None:
        equalities = self._equalities
        if len(equalities.tables) >= _MAX_ROWS:
            raise StatementTooComplex("finding the owners takes too many joins", hint="join fewer tables")
        nullable = tuple(name for name in key.columns if not equalities.known((alias, name)))
        added = self._alias(parent)
        completion = Completion(added, parent, alias, key, nullable)
        enter_parent(equalities, completion)
        equalities.close()
        self._completions.append(completion)
        self._parents[alias, key] = added
        self._steps[added] = dict(steps)
        self.visit(added, parent)

    def _alias(self, parent: Table) -> str:
        """An alias that no row of the tuple has, nor one beside it."""
        for index in itertools.count(len(self._equalities.tables)):
            alias = generated_alias(parent.relation, index)
            if alias not in self._equalities.tables and alias not in self._taken:
                return alias
        raise AssertionError("there are more numbers than rows")


def owner_sql(owner: OwnerPosition, equalities: Equalities) -> Owner:
    """The key that a position holds: NULL if it holds none.

    A key of one column is a bigint or text; of several, one text with the length before each part.
    """
    parts = [_part(owner.relation, column, equalities) for column in owner.columns]
    key: exp.Expr = parts[0] if len(parts) == 1 else _together(parts)
    if owner.orphan_of:
        absent = [
            exp.or_(*(exp.Is(this=bound_column(*column), expression=exp.Null()) for column in columns))
            for columns in owner.orphan_of
        ]
        key = exp.Case().when(exp.and_(*absent), key)
    return Owner(owner.relation, key)


def _part(relation: str, column: ColumnRef, equalities: Equalities) -> exp.Cast:
    alias, name = column
    declared = equalities.tables[alias].column(name)
    assert declared is not None, "owner columns exist"
    target = canonical_cast(sql_type(declared.type))
    if target is None:
        raise UnsupportedSQL(f"the key of the privacy unit {relation!r} has an unsupported type")
    return cast_sql(bound_column(alias, name), target)


def _together(parts: list[exp.Cast]) -> exp.Expr:
    """`5:Paris2:42`: equal exactly if every part is, and NULL if one part is."""
    return joined_texts([piece for part in parts for piece in behind_length(cast_sql(part, "TEXT"))])


@dataclass(frozen=True)
class Completion:
    """A parent to join under a new alias, and the row `child` that references it; `nullable`: columns of its key."""

    alias: str
    table: Table
    child: str
    key: ForeignKey
    nullable: tuple[str, ...]

    @property
    def conditions(self) -> list[exp.Expr]:
        """The equalities of the join."""
        pairs = zip(self.key.columns, self.key.key, strict=True)
        return [
            exp.EQ(this=bound_column(self.child, name), expression=bound_column(self.alias, above))
            for name, above in pairs
        ]
