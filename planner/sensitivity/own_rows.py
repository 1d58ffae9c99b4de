"""Private rows that a question has optionally, or asks for by EXISTS and IN: they must be its owners' own.

Notation: p is a tuple of the rows that must be there, U(p) its owners. Beside it stand the rows that a LEFT JOIN may
find, or that a semi-join asks for. The condition that is checked here, from keys and equal columns alone:

    (own)  whenever rows r pass the conditions of the LEFT JOIN or the subquery beside p, all owners of r are in U(p).

Proof that it is enough. Let I' be I without v and all that v owns (privacy.md section 1). A tuple p of I with v in
U(p) is gone in I': a row of p is v's. So are those beside it. A tuple p with v not in U(p) stands in both, with the
same owners (`planner.sensitivity.provenance`). By (own) no row that passes beside p in I is v's, and I' has no
further rows. So the same rows pass beside p in both: a LEFT JOIN gives the same tuples, a semi-join has the same
outcome, and NOT EXISTS and NOT IN have, too. Hence T = T' + D, and v owns every tuple of D, as everywhere.

(own) uses equalities only where they hold: those of WHERE over rows that must be there, of the ON clause or subquery
itself, and of the ON clauses of optional rows that it equates a column with, which are there when r is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundSemiJoin, BoundTable
from planner.binding.from_clause import NOT_OWN_ROWS
from planner.errors import UnsupportedSQL
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.equality_conditions import equal_columns
from planner.sensitivity.provenance import Provenance, check_owned, owners_beside, provenance
from planner.sql.columns import column_ref
from planner.sql.trees import columns_of


def check_own_rows(query: BoundQuery, schema: Schema, policy: Policy) -> None:
    """Refuse optional rows and semi-joins over private rows that (own) is not proved of.

    Raises: UnsupportedSQL; SensitivityUnbounded for a private table without owners.
    Cost: one search for owners for each LEFT JOIN to a private table and each subquery over one.
    """
    optional = [entry for entry in query.tables if entry.optional]
    inner = [semi_join for semi_join in query.semi_joins if _private(semi_join.tables, policy)]
    if not optional and not inner:
        return
    _OwnRows(query, schema, policy).check(optional, inner)


def with_rows_there(query: BoundQuery) -> Iterator[BoundQuery]:
    """The question with its optional private rows as rows that must be there, without and with each semi-join's.

    What they cost a database is no more than that of these joins: `planner.sensitivity.join_size` classes them.
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


@dataclass(frozen=True)
class _OwnRows:
    query: BoundQuery
    schema: Schema
    policy: Policy

    def check(self, optional: Sequence[BoundTable], inner: Sequence[BoundSemiJoin]) -> None:
        required = tuple(entry for entry in self.query.tables if entry.outer is None)
        base = replace(self.query, tables=required, predicates=_over(required, self.query.predicates), semi_joins=())
        taken = {entry.alias for entry in self.query.tables}
        found = provenance(base, self.schema, self.policy, taken) if _private(required, self.policy) else None
        for entry in optional:
            reason = self._not_own(base, found, [*self._there_with(entry), entry], [entry])
            if reason is not None:
                hint = f"use an inner JOIN, or ask of its own rows alone: {reason}"
                raise UnsupportedSQL(NOT_OWN_ROWS, hint=hint, position=entry.position)
        for semi_join in inner:
            rows = _private(semi_join.tables, self.policy)
            reason = self._not_own(base, found, semi_join.tables, rows, semi_join.predicates)
            if reason is not None:
                message = (
                    f"{semi_join.label} over other people's rows is not supported: one would decide on another's"
                )
                hint = f"join the table and ask for COUNT(DISTINCT key), or ask of its own rows alone: {reason}"
                raise UnsupportedSQL(message, hint=hint, position=semi_join.position)

    def _there_with(self, entry: BoundTable) -> list[BoundTable]:
        """The optional rows that are there when this one is: its ON clause equates a column with theirs, or so on."""
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
        """Why (own) is not proved of some rows; None where it is.

        Args:
          base, found: what must be there, and its provenance; None where it is nobody's.
          beside: all rows that are there when `rows` are, theirs included.
          rows: the private entries that are asked about.
          conditions: of the subquery; those of ON clauses are `beside`'s own.
        """
        graph = ownership(self.schema, self.policy)
        check_owned(rows, graph)
        if found is None:
            return "the rows beside it are public and belong to nobody"
        deep = _of_limited_depth(rows, graph)
        if deep is not None:
            return f"rows of {deep} own one another"
        tables = (*base.tables, *(replace(entry, outer=None, optional=False) for entry in beside))
        conditions = [*conditions, *(condition for entry in beside for condition in entry.outer or ())]
        joined = replace(base, tables=tables, predicates=(*base.predicates, *_over(tables, conditions)))
        theirs = owners_beside(joined, found, rows, self.schema, self.policy)
        find = theirs.equalities.find
        ours = {(owner.relation, tuple(map(find, owner.columns))) for owner in found.owners if not owner.orphan_of}
        for completion in theirs.completions:
            table = theirs.equalities.tables[completion.child].name
            along = ", ".join(completion.key.columns)
            return f"{table} is owned through {completion.table.name}: join that, too, along {along}"
        for owner in theirs.owners:
            if owner.orphan_of or (owner.relation, tuple(map(find, owner.columns))) not in ours:
                table, names = theirs.equalities.tables[owner.columns[0][0]].name, [name for _, name in owner.columns]
                return f"{table}.{', '.join(names)} is not tied to the {owner.relation} of the rows beside it"
        return None


def _private(entries: Iterable[BoundTable], policy: Policy) -> list[BoundTable]:
    return [entry for entry in entries if not policy.is_public(entry.table.name)]


def _over(entries: Iterable[BoundTable], conditions: Iterable[exp.Expr]) -> tuple[exp.Expr, ...]:
    """The conditions that read nothing but these entries; without the others, less is proved."""
    aliases = {entry.alias for entry in entries}
    return tuple(one for one in conditions if all(column_ref(column)[0] in aliases for column in columns_of(one)))


def _of_limited_depth(rows: Sequence[BoundTable], graph: Ownership) -> str | None:
    """A table whose rows own one another down to a depth: such rows may stand or not."""
    for entry in rows:
        name = entry.table.name
        if any(graph.depth(name, key) is not None for key in graph.owning_keys(name)):
            return name
    return None
