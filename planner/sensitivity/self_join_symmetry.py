"""Which entries of a self-join can change places, and how often a condition like a.x < b.x divides its tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.sensitivity.column_equalities import Equalities
from planner.sql.columns import ColumnRef, column_ref
from planner.sql.sql_types import Family

Permutation = tuple[int, ...]
"""Entry i of FROM takes the place of entry permutation[i]."""

_Image = dict[ColumnRef, ColumnRef]
_Pairs = set[tuple[ColumnRef, ColumnRef]]

_MAX_GROUP = 720


class Symmetry:
    """The symmetries of a join that its strict comparisons break.

    Let T be the join tuples, and let every permutation of a group G map the equal columns of the join to equal
    columns, so that permuting the entries of a tuple gives a tuple that passes the same equalities. If no tuple
    passes the strict comparisons together with any of its own images, then the images of T are |G| disjoint sets.
    A unit has the same number of tuples in each, since the owners are a set; so it has in T a |G|-th of what
    the equalities allow. `e1.src = e2.src AND e1.dst < e2.dst` counts each pair of edges once: |G| = 2.

    Attributes:
      group: G, with the identity.
    Cost: at most 720 permutations are looked at; where there are more, the group is trivial, which is sound.
    """

    def __init__(self, query: BoundQuery, equalities: Equalities, colour: Callable[[ColumnRef], object]) -> None:
        self._entries = query.tables
        self._smaller = _closure(_comparisons(query, equalities, (exp.LT, exp.GT)))
        self._different = _both_ways(_comparisons(query, equalities, (exp.NEQ,)) | self._smaller)
        compared = {column for pair in self._different for column in pair}
        self._classes = _classes(query, equalities, compared, colour) if compared else []
        self.group = self._broken()
        self.distinct = cache(self._distinct)

    def _distinct(self, left: int, right: int) -> bool:
        """Are two entries of one table different rows, in every image of every tuple?"""
        apart = cache(self._apart)
        return all(apart(image[left], image[right]) for image in self.group)

    def _apart(self, left: int, right: int) -> bool:
        one, other = self._entries[left], self._entries[right]
        if not self._different or one.table != other.table or one.outer is not None or other.outer is not None:
            return False
        pairs = zip(self._classes[left], self._classes[right], strict=True)
        return any((a[0], b[0]) in self._different for a, b in pairs)

    def _broken(self) -> list[Permutation]:
        """The largest group found whose every permutation but the identity contradicts the comparisons."""
        identity = tuple(range(len(self._entries)))
        outer = any(entry.outer is not None for entry in self._entries)
        everything = {} if outer or not self._smaller else self._automorphisms()
        broken = {places for places, image in everything.items() if self._contradicts(image)} | {identity}
        if len(broken) == len(everything):
            return list(everything)
        group = [identity]
        for permutation in sorted(broken):
            if permutation not in group:
                group = _generated([*group, permutation], broken) or group
        return group

    def _automorphisms(self) -> dict[Permutation, _Image]:
        """The permutations that keep tables, equalities and colours, with their images; none when too many."""
        found: dict[Permutation, _Image] = {(): {}}
        for _ in self._entries:
            found = {
                (*places, place): grown
                for places, image in found.items()
                for place in range(len(self._entries))
                if place not in places and (grown := self._grown(image, len(places), place)) is not None
            }
            if len(found) > _MAX_GROUP:
                return {}
        return found

    def _grown(self, image: _Image, entry: int, place: int) -> _Image | None:
        """The image with one entry more; None when equal columns would not stay equal, or others become so."""
        if self._entries[entry].table != self._entries[place].table:
            return None
        grown = dict(image)
        for (ours, colour), (theirs, other) in zip(self._classes[entry], self._classes[place], strict=True):
            if colour != other or grown.setdefault(ours, theirs) != theirs:
                return None
        return grown  # different classes stay different in the end: every class is the image of one

    def _contradicts(self, image: _Image) -> bool:
        """Can no tuple pass the comparisons together with its image?"""
        return any((image[b], image[a]) in self._smaller for a, b in self._smaller)


def _classes(
    query: BoundQuery, equalities: Equalities, compared: set[ColumnRef], colour: Callable[[ColumnRef], object]
) -> list[list[tuple[ColumnRef, object]]]:
    """Per entry, the class and colour of each column that some entry of its table joins, compares or colours."""
    joined: dict[ColumnRef, int] = {}
    columns = [(entry, column.name) for entry in query.tables for column in entry.table.columns]
    nullable = {column for entry in query.tables for column in entry.table.columns if column.nullable}
    for entry, name in columns:
        root = equalities.find((entry.alias, name))
        joined[root] = joined.get(root, 0) + 1
    used: dict[str, set[str]] = {}
    for entry, name in columns:
        root = equalities.find((entry.alias, name))
        known = equalities.known(root) and entry.table.column(name) in nullable
        if joined[root] > 1 or root in compared or known or colour(root):
            used.setdefault(entry.table.name, set()).add(name)
    return [
        [
            (
                equalities.find((entry.alias, name)),
                (equalities.known((entry.alias, name)), colour((entry.alias, name))),
            )
            for name in sorted(used.get(entry.table.name, ()))
        ]
        for entry in query.tables
    ]


def _comparisons(query: BoundQuery, equalities: Equalities, kinds: tuple[type[exp.Expr], ...]) -> _Pairs:
    """The pairs of classes that some condition compares, the smaller one first; only equal types count."""
    return set(_compared(query, equalities, kinds))


def _compared(
    query: BoundQuery, equalities: Equalities, kinds: tuple[type[exp.Expr], ...]
) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    for condition in query.predicates:
        left, right = condition.args.get("this"), condition.args.get("expression")
        if not isinstance(condition, kinds) or not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
            continue
        family = query.type_of(left).family
        if family is query.type_of(right).family and family is not Family.OTHER:
            a, b = (equalities.find(column_ref(column)) for column in (left, right))
            yield (b, a) if isinstance(condition, exp.GT) else (a, b)


def _both_ways(pairs: Iterable[tuple[ColumnRef, ColumnRef]]) -> _Pairs:
    return {pair for a, b in pairs for pair in ((a, b), (b, a))}


def _closure(pairs: _Pairs) -> _Pairs:
    """The transitive closure."""
    closed = set(pairs)
    while more := {(a, d) for a, b in closed for c, d in closed if b == c} - closed:
        closed |= more
    return closed


def _generated(members: Sequence[Permutation], allowed: set[Permutation]) -> list[Permutation]:
    """The group that some permutations generate, or nothing when it leaves `allowed`."""
    group = set(members)
    while more := {tuple(a[i] for i in b) for a in group for b in group} - group:
        if not more <= allowed:
            return []
        group |= more
    return sorted(group)
