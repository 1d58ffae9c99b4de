"""Joins that could separate a row from its owner: optional rows, partial keys, rows without an owner.

Optional private rows, and private rows in EXISTS and IN, must have the owners of the rows beside them. Let p be a
tuple of the required rows, and U(p) its owners. Beside it stand the rows that a LEFT JOIN may find, or that a
semi-join asks for. This module checks, from keys and equal columns alone:

    (own)  whenever rows r pass the conditions of the LEFT JOIN or the subquery beside p, all owners of r are in U(p).

Proof that this is enough (docs/mathematics.md, section 2.2). Let I' be I without v and all that v owns. A tuple p of
I with v in U(p) is gone in I', and so are the rows beside it. A tuple p with v not in U(p) is in both, with the same
owners (`planner.sensitivity.provenance`). By (own) no row that passes beside p in I is v's, and I' has no further
rows. So the same rows pass beside p in both: a LEFT JOIN gives the same tuples, and EXISTS, NOT EXISTS, IN and NOT IN
the same outcome. Hence T = T' + D, and v owns every tuple of D.

(own) uses equalities only where they hold. Those are the ones of WHERE over required rows, of the ON clause or
subquery itself, and of the ON clauses of optional rows that it equates a column with, which are there when r is.

A LEFT JOIN to the owners of rows is an inner join if no answer has a row without its owner. A join on a part of a
composite key is sound, but each row meets rows of several owners, so a note says so. Rows whose owning references are
all NULL have no owner, and no answer counts them: a note says so, or the question is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundSemiJoin, BoundTable
from planner.binding.conditions import normal_form
from planner.binding.derived_columns import EQUATE_THE_OWNER, OF_OTHERS
from planner.binding.outer_joins import NOT_OWN_ROWS
from planner.errors import UnsupportedSQL
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.schema import ForeignKey, Schema
from planner.sensitivity.column_equalities import Equalities, equal_columns
from planner.sensitivity.one_owner import Kept, OneOwner
from planner.sensitivity.provenance import OwnerPosition, Provenance, check_owned, owners_beside, provenance
from planner.sql.trees import ColumnRef, column_ref, columns_of


def with_own_rows(query: BoundQuery, schema: Schema, policy: Policy) -> tuple[BoundQuery, tuple[str, ...]]:
    """Refuse optional rows and semi-joins over private rows for which (own) is not proved.

    Returns: the question, with conditions that keep rows to those of one owner where the policy declares it
      (`planner.sensitivity.one_owner`), and a note about each declaration.
    Raises: UnsupportedSQL; SensitivityUnbounded for a private table without owners.
    Cost: one search for owners for each LEFT JOIN to a private table and each subquery over one.
    """
    read = any(entry.optional for entry in query.tables) or _private(query.all_tables[len(query.tables) :], policy)
    if not read and not any(declared.one_owner for declared in policy.tables.values()):
        return query, ()
    aliases = {entry.alias for entry in query.all_tables}
    kept, found = _OwnRows(query, schema, policy, OneOwner(schema, policy, aliases)).kept()
    return kept, tuple(dict.fromkeys(one.note for one in found))


def with_rows_there(query: BoundQuery) -> Iterator[BoundQuery]:
    """The question with its optional private rows as required rows, without and with each semi-join's.

    Their joins bound what the optional rows cost a database (`planner.sensitivity.join_size`).
    """
    entries = tuple(replace(entry, outer=None) if entry.optional else entry for entry in query.tables)
    conditions = [condition for entry in query.tables if entry.optional for condition in entry.outer or ()]
    joined = replace(query, tables=entries, predicates=(*query.predicates, *conditions), semi_joins=())
    joined = replace(joined, tables=tuple(replace(entry, optional=False) for entry in entries))
    yield joined
    for semi_join in query.semi_joins:
        yield replace(
            joined,
            tables=(*joined.tables, *semi_join.tables),
            predicates=(*joined.predicates, *semi_join.predicates),
        )


_ALONG_A_KEY = "join the table along its key and ask for COUNT(DISTINCT key), or "

_INSTEAD = {
    "EXISTS": _ALONG_A_KEY,
    "IN": _ALONG_A_KEY,
    "a scalar subquery": "join the table along its key, or ",
    "NOT IN": "write NOT EXISTS (SELECT 1 FROM t WHERE t.key = x), because the key may be NULL; or ",
}
"""How the hint about a subquery in WHERE begins, by its label; nothing can be joined in place of NOT EXISTS."""


def _of_other_owners(label: str, reason: str | None, position: int | None) -> UnsupportedSQL:
    hint = f"{_INSTEAD.get(label, '')}look at rows of the same owner: {reason}" if reason else EQUATE_THE_OWNER
    return UnsupportedSQL(OF_OTHERS.format(label), hint=hint, position=position)


@dataclass(frozen=True)
class _OwnRows:
    query: BoundQuery
    schema: Schema
    policy: Policy
    one_owner: OneOwner

    def kept(self) -> tuple[BoundQuery, list[Kept]]:
        """The question over rows for which (own) is proved, and what keeps them so."""
        required = tuple(entry for entry in self.query.tables if entry.outer is None)
        base = replace(self.query, tables=required, predicates=_over(required, self.query.predicates), semi_joins=())
        private, used = _private(required, self.policy), list[Kept]()
        for place, entry in enumerate(private):
            for one in self.one_owner.kept(base, private[:place], [entry]):
                if not one.tables:
                    used.append(one)
                    base = replace(base, predicates=normal_form([*base.predicates, *one.conditions]))
        added = [condition for one in used for condition in one.conditions]
        query = replace(self.query, predicates=normal_form([*self.query.predicates, *added])) if added else self.query
        taken = {entry.alias for entry in self.query.tables}
        found = provenance(base, self.schema, self.policy, taken) if private else None
        self.one_owner.taken.update(one.alias for one in (found.completions if found else ()))
        tables = []
        for entry in query.tables:
            found_by, more = self._optional(base, found, entry) if entry.optional else (entry, [])
            tables.append(found_by)
            used += more
        semi_joins = []
        for semi_join in query.semi_joins:
            inside, more = self._semi_join(base, found, semi_join)
            semi_joins.append(inside)
            used += more
        return replace(query, tables=tuple(tables), semi_joins=tuple(semi_joins)) if used else query, used

    def _optional(
        self, base: BoundQuery, found: Provenance | None, entry: BoundTable
    ) -> tuple[BoundTable, list[Kept]]:
        there = self._there_with(entry)
        reason = self._not_own(base, found, [*there, entry], [entry])
        if reason is None:
            return entry, []
        joined, private = self._joined(base, [*there, entry], ()), _private(base.tables, self.policy)
        for declared in (True, False):
            for one in self.one_owner.kept(joined, private, [entry], declared=declared):
                kept = replace(entry, outer=normal_form([*(entry.outer or ()), *one.conditions]))
                if not one.tables and self._not_own(base, found, [*there, kept], [kept]) is None:
                    if declared:
                        return kept, [one]
                    reason = f"{reason}; or {one.hint}"
        if entry.label is not None:
            raise _of_other_owners(entry.label, None if entry.person else reason, entry.position)
        hint = (
            "use an inner JOIN, and for rows without a match subtract: (SELECT count(*) FROM a) - (SELECT "
            f"count(*) FROM a JOIN b ON ...); or LEFT JOIN rows of the same owner: {reason}"
        )
        raise UnsupportedSQL(NOT_OWN_ROWS, hint=hint, position=entry.position)

    def _semi_join(
        self, base: BoundQuery, found: Provenance | None, semi_join: BoundSemiJoin
    ) -> tuple[BoundSemiJoin, list[Kept]]:
        rows = _private(semi_join.tables, self.policy)
        reason = self._inside(base, found, semi_join) if rows else None
        if reason is None:
            return semi_join, []
        joined = self._joined(base, semi_join.tables, semi_join.predicates)
        private = _private(base.tables, self.policy)
        for declared in (True, False):
            used = list(self.one_owner.kept(joined, private, rows, declared=declared))
            kept = replace(
                semi_join,
                tables=(*semi_join.tables, *(entry for one in used for entry in one.tables)),
                predicates=normal_form([*semi_join.predicates, *(part for one in used for part in one.conditions)]),
            )
            if used and self._inside(base, found, kept) is None:
                if declared:
                    return kept, used
                reason = "; or ".join(dict.fromkeys([reason, *(one.hint for one in used)]))
        raise _of_other_owners(semi_join.label, reason, semi_join.position)

    def _inside(self, base: BoundQuery, found: Provenance | None, semi_join: BoundSemiJoin) -> str | None:
        rows = _private(semi_join.tables, self.policy)
        return self._not_own(base, found, semi_join.tables, rows, semi_join.predicates)

    def _joined(self, base: BoundQuery, beside: Sequence[BoundTable], conditions: Sequence[exp.Expr]) -> BoundQuery:
        """The required rows and those beside them, which are there, with the conditions that then hold."""
        tables = (*base.tables, *(replace(entry, outer=None, optional=False) for entry in beside))
        conditions = [*conditions, *(condition for entry in beside for condition in entry.outer or ())]
        return replace(base, tables=tables, predicates=(*base.predicates, *_over(tables, conditions)))

    def _there_with(self, entry: BoundTable) -> list[BoundTable]:
        """The optional rows that are there when this one is, since ON clauses equate columns, also in steps."""
        by_alias = {other.alias: other for other in self.query.tables if other.optional}
        found: dict[str, BoundTable] = {}
        waiting = [entry]
        while waiting:
            current = waiting.pop()
            for pair in equal_columns(current.outer or (), self.query):
                for alias, _ in pair:
                    if alias in by_alias and alias != entry.alias and alias not in found:
                        found[alias] = by_alias[alias]
                        waiting.append(by_alias[alias])
        return list(found.values())

    def _not_own(
        self,
        base: BoundQuery,
        found: Provenance | None,
        beside: Sequence[BoundTable],
        rows: Sequence[BoundTable],
        conditions: Sequence[exp.Expr] = (),
    ) -> str | None:
        """Why (own) is not proved of the private entries `rows`; None if it is.

        Args:
          base, found: the required rows, and their provenance; None if they have no owner.
          beside: all rows that are there when `rows` are, including these.
          conditions: of the subquery; the conditions of ON clauses are in `beside`.
        """
        graph = ownership(self.schema, self.policy)
        check_owned(rows, graph)
        if found is None:
            return "the rows beside it are public and have no owner"
        deep = _of_limited_depth(rows, graph)
        if deep is not None:
            return f"rows of {deep} own one another"
        joined = self._joined(base, beside, conditions)
        theirs = owners_beside(joined, found, rows, self.schema, self.policy)
        find = theirs.equalities.find
        ours = {(owner.relation, tuple(map(find, owner.columns))) for owner in found.owners if not owner.orphan_of}
        for completion in theirs.completions:
            table = theirs.equalities.tables[completion.child].name
            along = ", ".join(completion.key.columns)
            return f"{table} is owned through {completion.table.name}: join that table, too, along {along}"
        for owner in theirs.owners:
            if owner.orphan_of or (owner.relation, tuple(map(find, owner.columns))) not in ours:
                table, names = theirs.equalities.tables[owner.columns[0][0]].name, [name for _, name in owner.columns]
                return (
                    f"no equality connects {table}.{', '.join(names)} with the {owner.relation} of the rows beside it"
                )
        return None


def _private(entries: Iterable[BoundTable], policy: Policy) -> list[BoundTable]:
    return [entry for entry in entries if not policy.is_public(entry.table.name)]


def _over(entries: Iterable[BoundTable], conditions: Iterable[exp.Expr]) -> tuple[exp.Expr, ...]:
    """The conditions that read only these entries; ignoring the others proves less."""
    aliases = {entry.alias for entry in entries}
    return tuple(one for one in conditions if all(column_ref(column)[0] in aliases for column in columns_of(one)))


def _of_limited_depth(rows: Sequence[BoundTable], graph: Ownership) -> str | None:
    """A table whose rows own one another down to a depth: such rows may be kept or not."""
    for entry in rows:
        name = entry.table.name
        if any(graph.depth(name, key) is not None for key in graph.owning_keys(name)):
            return name
    return None


def check_owner_joins(query: BoundQuery, found: Provenance) -> None:
    """Refuse a LEFT JOIN that would lose rows: those with a NULL foreign key that somebody else owns, too.

    A tuple with one owner position has no owner if the key to it is NULL, and is in no answer. With another position
    it belongs to that owner: `edge LEFT JOIN node ON edge.src = node.id` keeps the edges of dst alone, which the
    inner join leaves out. LEFT JOINs to owners are entered as inner joins. Raises: UnsupportedSQL.
    """
    for join in query.owner_joins:
        if join.nullable and len(found.owners) > 1:
            key = ", ".join(join.key.columns)
            message = f"this LEFT JOIN is not supported: rows with a NULL {key} may have other owners"
            raise UnsupportedSQL(
                message, hint="use an inner JOIN, which leaves these rows out", position=join.position
            )


def left_out(query: BoundQuery) -> Iterator[str]:
    """One sentence for each LEFT JOIN to owners that may leave rows out."""
    for join in query.owner_joins:
        key = ", ".join(f"{join.child.name}.{name}" for name in join.key.columns)
        cases = ["is NULL"] * join.nullable + [f"names no row of {join.key.references}"] * (not join.enforced)
        yield f"Rows whose {key} {' or '.join(cases)} are not counted, although this is a LEFT JOIN."


def partial_joins(query: BoundQuery, equalities: Equalities, policy: Policy) -> tuple[str, ...]:
    """One sentence for each foreign key of several columns of which a query equates only some.

    A row that meets its whole parent elsewhere in FROM is left out: the other join is intended.
    """
    return tuple(dict.fromkeys(_found(query, equalities, policy)))


def _found(query: BoundQuery, equalities: Equalities, policy: Policy) -> Iterator[str]:
    for entry in query.tables:
        for key in entry.table.foreign_keys:
            parents = [other for other in query.tables if other.table.name == key.references and other != entry]
            if len(key.columns) < 2 or not parents:
                continue
            equal = [_equal(entry, key, parent, equalities) for parent in parents]
            if any(map(all, equal)):
                continue
            for parent, parts in zip(parents, equal, strict=True):
                if any(parts):
                    yield _sentence(entry, key, parent, parts, owned=not policy.is_public(parent.table.name))


def _equal(entry: BoundTable, key: ForeignKey, parent: BoundTable, equalities: Equalities) -> list[bool]:
    pairs = zip(key.columns, key.key, strict=True)
    return [equalities.same((entry.alias, name), (parent.alias, above)) for name, above in pairs]


def _sentence(entry: BoundTable, key: ForeignKey, parent: BoundTable, parts: list[bool], *, owned: bool) -> str:
    child, above = entry.name, parent.name
    whole = " AND ".join(f"{child}.{a} = {above}.{b}" for a, b in zip(key.columns, key.key, strict=True))
    missing = ", ".join(name for name, equal in zip(key.columns, parts, strict=True) if not equal)
    owners = ", and belongs to the privacy units of each" if owned else ""
    return (
        f"{child} joins {above} on a part of its key, without {missing}, so a row meets several rows of "
        f"{above}{owners}. The whole key is {whole}."
    )


def rows_without_owner(query: BoundQuery, found: Provenance) -> tuple[str, ...]:
    """One sentence if tuples of the question may have no owner.

    A row that is a unit if it references no owner always has one.

    Raises: UnsupportedSQL if the conditions select such tuples only, or a group is of them: no answer counts them.
    """
    equalities = found.equalities
    present = {equalities.find(column) for column in _present(query)}
    absent = dict(_absent(query, equalities))
    asked: list[exp.Expr] = []
    owned = False
    for owner in found.owners:
        classes = list(map(equalities.find, owner.columns))
        owned |= bool(owner.orphan_of) or all(one in present or equalities.known(one) for one in classes)
        asked += [absent[one] for one in classes if one in absent and one not in present][:1]
    named = " and ".join(dict.fromkeys(_name(query, owner, equalities) for owner in found.owners))
    if len(asked) == len(found.owners):
        hint = "the administrator can count each as a privacy unit, with rows_are_units = true for the table"
        message = f"this asks for rows whose {named} is NULL, which have no owner, so no answer counts them"
        raise UnsupportedSQL(message, hint=hint, at=asked[0])
    return () if owned else (f"Rows whose {named} is NULL have no owner and are not counted.",)


def _present(query: BoundQuery) -> Iterator[ColumnRef]:
    """The columns that conditions compare with constants or require to be not NULL."""
    for condition in query.predicates:
        there = isinstance(condition, exp.Is) and condition.args.get("negate")
        other = condition.args.get("expression")
        compared = isinstance(condition, _COMPARISONS) and not isinstance(other, exp.Column)
        if isinstance(condition.this, exp.Column) and (there or compared):
            yield column_ref(condition.this)


_COMPARISONS = exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between


def _absent(query: BoundQuery, equalities: Equalities) -> Iterator[tuple[ColumnRef, exp.Expr]]:
    """The classes of columns that conditions require to be NULL, or keys show as a group of their own."""
    keys = [key.value.this.unnest() if isinstance(key.value, exp.Not) else key.value for key in query.keys]
    for condition in (*query.predicates, *keys):
        absent = isinstance(condition, exp.Is) and (condition in keys or not condition.args.get("negate"))
        if absent and isinstance(condition.this, exp.Column) and isinstance(condition.expression, exp.Null):
            yield equalities.find(column_ref(condition.this)), condition


def _name(query: BoundQuery, owner: OwnerPosition, equalities: Equalities) -> str:
    """The reference that leads to an owner, as the question names its table."""
    names, tables = {entry.alias: entry.name for entry in query.tables}, equalities.tables
    members = equalities.members(owner.columns[0])
    here = (column for column in members if column[0] in names and tables[column[0]].name != owner.relation)
    alias, name = next(here, owner.columns[0])
    return f"{names.get(alias, tables[alias].name)}.{name}"
