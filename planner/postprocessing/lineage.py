"""Where columns of a statement around answers come from: through subqueries, WITH and UNION ALL.

In: the statement and the noisy columns of its answers. Out: what a column means in the SELECTs that it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.expressions.predicates import conjuncts
from planner.postprocessing.composed import is_relation
from planner.sql.trees import bound_column, fold, from_items, holds, nodes

_Place = tuple[str, str]
"""A column, with the name of its item of FROM."""

_ITEMS = (exp.Table, exp.Subquery, exp.Values, exp.Unnest)


@dataclass(frozen=True)
class NoisyColumns:
    """The noisy columns of answers, by relation.

    Attributes:
      all: those with intervals, whose ends are columns of the relation, too.
      sums: of these, those with noise of their own.
      floored: of these, those shown as 0 at the least.
      whole: of these, whole numbers.
      keys: columns that together identify a row of an answer; no entry where none do.
      added: of these, counts and sums, which are 0 where there is no row.
    """

    all: Mapping[str, frozenset[str]]
    sums: Mapping[str, frozenset[str]]
    floored: Mapping[str, frozenset[str]] = field(default_factory=dict)
    whole: Mapping[str, frozenset[str]] = field(default_factory=dict)
    keys: Mapping[str, frozenset[str]] = field(default_factory=dict)
    added: Mapping[str, frozenset[str]] = field(default_factory=dict)


def is_plain(select: exp.Select) -> bool:
    """Does each of its rows come from one row of its FROM?"""
    if select.args.get("distinct") is not None or select.args.get("group") is not None:
        return False
    return not any(
        isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window, exp.Select) is select
        for item in select.expressions
        for node in nodes(item)
    )


class Lineage:
    """The columns of one statement.

    Attributes:
      noisy: the noisy columns of the answers that it reads.
      nests: may columns be added to its subqueries? A star would show them, and so would a set operation that
        compares rows.
    """

    def __init__(self, outer: exp.Query, noisy: NoisyColumns) -> None:
        self.noisy = noisy
        everywhere = nodes(outer)
        stars = any(
            isinstance(node, exp.Select) and any(item.is_star for item in node.expressions) for node in everywhere
        )
        natural = any(isinstance(node, exp.Join) and node.method for node in everywhere)
        merged = any(isinstance(node, exp.SetOperation) and not _keeps_rows(node) for node in everywhere)
        self.nests = not (stars or natural or merged)
        clause = outer.args.get("with_")
        self._common = {fold(entry.args["alias"].this): entry for entry in (clause.expressions if clause else ())}

    def expand(self, select: exp.Select) -> None:
        """Write out the stars of a SELECT, after those of the subqueries that it reads."""
        if any(join.method or join.args.get("using") for join in select.args.get("joins") or []):
            return
        items: list[exp.Expr] = []
        for item in select.expressions:
            listed = self._listed(item, select) if item.is_star else None
            items += [item] if listed is None else listed
        select.set("expressions", items)

    def _listed(self, star: exp.Expr, select: exp.Select) -> list[exp.Expr] | None:
        """Return the columns behind a star; None if some have no name of their own."""
        mark, table = (star.this, star.args.get("table")) if isinstance(star, exp.Column) else (star, None)
        sources = from_items(select)
        sources = [one for one in sources if table is None or alias_of(one) == fold(table)]
        if not sources or any(mark.args.values()):
            return None
        found: list[exp.Expr] = []
        for source in sources:
            bodies = self.bodies(source)
            if not bodies or not alias_of(source) or source.args.get("joins"):
                return None
            for body in bodies:
                self.expand(body)
            names = _names(bodies)
            named = all(isinstance(one, exp.Alias) or is_name(one) for one in bodies[0].expressions)
            if not names or not named or len(set(names)) < len(names):
                return None
            found += [bound_column(alias_of(source), name) for name in names]
        return found

    def key(self, tree: exp.Expr, select: exp.Select) -> tuple[str, str] | None:
        """Return the relation and column of an exact column; None for other expressions."""
        source = self.source(tree, select) if isinstance(tree, exp.Column) and is_plain(select) else None
        if source is None or not isinstance(source[1], exp.Table) or not is_relation(source[1]):
            return None
        name = fold(tree.this)
        return None if name in self.noisy.all.get(source[1].name, frozenset()) else (source[1].name, name)

    def is_single(self, select: exp.Select) -> bool:
        """Is it over one answer alone, directly or through subqueries?"""
        clause = select.args.get("from_")
        if clause is None or select.args.get("joins") or select.args.get("laterals"):
            return False
        if isinstance(clause.this, exp.Table) and is_relation(clause.this):
            return True
        body = self.body(clause.this)
        return body is not None and is_plain(body) and self.is_single(body)

    def is_among(self, columns: Mapping[str, frozenset[str]], column: exp.Column, select: exp.Select) -> bool:
        """Is a column one of these columns of relations, unchanged? Under UNION ALL, in every SELECT."""
        return all(self._each(columns, column, select) or [False])

    def may_be_noisy(self, column: exp.Column, select: exp.Select) -> bool:
        """Is a column a noisy column of a relation, unchanged? Under UNION ALL, in some SELECT."""
        return any(self._each(self.noisy.all, column, select))

    def _each(self, columns: Mapping[str, frozenset[str]], column: exp.Expr, select: exp.Select) -> list[bool]:
        """Whether an expression is one of these columns, in each SELECT that it comes from."""
        item = self._relation(column, select) if isinstance(column, exp.Column) else None
        if not isinstance(column, exp.Column) or item is not None:
            return [item is not None and fold(column.this) in columns.get(item, frozenset())]
        return [one for tree, body in self.meant(column, select) for one in self._each(columns, tree, body)]

    def meant(self, column: exp.Column, select: exp.Select) -> list[tuple[exp.Expr, exp.Select]]:
        """Return what a column of a subquery is, with that subquery; under UNION ALL, in each SELECT."""
        source = self.source(column, select)
        bodies = [] if source is None else self.bodies(source[1])
        place = place_of(fold(column.this), bodies)
        return [] if place is None else [(one.expressions[place].unalias(), one) for one in bodies]

    def _relation(self, column: exp.Column, select: exp.Select) -> str | None:
        """Return the name of the relation that a column is read from directly."""
        source = self.source(column, select)
        item = None if source is None else source[1]
        return item.name if isinstance(item, exp.Table) and is_relation(item) else None

    def is_noisy(self, tree: exp.Expr, select: exp.Select, inside_windows: bool = False) -> bool:
        """Is an expression over a SELECT's FROM computed from noisy columns?

        Args:
          inside_windows: of the columns of subqueries, those alone that are computed over other rows.
        """
        for column in [node for node in nodes(tree) if isinstance(node, exp.Column)]:
            if not inside_windows and self.may_be_noisy(column, select):
                return True
            for meant, body in self.meant(column, select):
                if (not inside_windows or holds(meant, exp.Window)) and self.is_noisy(meant, body):
                    return True
        return False

    def is_determined(self, column: exp.Column, others: Sequence[exp.Column], select: exp.Select) -> bool:
        """Do other columns fix which row of an answer a column is of, also by the equalities of joins?"""
        source = self.source(column, select)
        keys = None if source is None else self._identifying(source[1])
        if source is None or keys is None:
            return False
        known = {self._place(other, select) for other in others}
        for one, other in [*self._equalities(select), *self._equalities(select)]:  # twice: a = b AND c = a
            if one in known or other in known:
                known |= {one, other}
        return {(source[0], key) for key in keys} <= known

    def _identifying(self, item: exp.Expr) -> frozenset[str] | None:
        """Return the columns that identify a row of an item of FROM, which is one answer; None if others may."""
        if isinstance(item, exp.Table) and is_relation(item):
            return self.noisy.keys.get(item.name)
        body = self.body(item)
        inner = from_items(body)[0] if body is not None and is_plain(body) and len(from_items(body)) == 1 else None
        keys = None if inner is None else self._identifying(inner)
        if body is None or keys is None:
            return None
        keys -= {fold(one.this) for one, other in _equal(body) if is_name(one) and isinstance(other, exp.Literal)}
        named = {fold(one.unalias().this): output_name(one) for one in body.expressions if is_name(one.unalias())}
        return frozenset(named[key] for key in keys) if keys <= named.keys() else None

    def _equalities(self, select: exp.Select) -> list[tuple[_Place, _Place]]:
        """Return the pairs of columns that a SELECT equates in ON and in WHERE."""
        return [
            (self._place(one, select), self._place(other, select))
            for one, other in _equal(select)
            if is_name(one) and is_name(other)
        ]

    def _place(self, column: exp.Expr, select: exp.Select) -> _Place:
        """Return a column with the name of its item of FROM; an unqualified one of several items has none."""
        source = self.source(column, select) if isinstance(column, exp.Column) else None
        return ("" if source is None else source[0], fold(column.this))

    def body(self, item: exp.Expr) -> exp.Select | None:
        """Return the one SELECT behind an item of FROM, where it names its columns itself."""
        bodies = self.bodies(item)
        return bodies[0] if len(bodies) == 1 else None

    def bodies(self, item: exp.Expr) -> list[exp.Select]:
        """Return the SELECTs behind an item of FROM, several under UNION ALL, where they name their columns."""
        alias = item.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return []
        body: exp.Expr | None = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(item, exp.Table):
            entry = self._common.get(fold(item.this)) if item.args.get("db") is None else None
            if entry is None or entry.args["alias"].args.get("columns"):
                return []
            body = entry.this
        return [] if body is None else _side_by_side(body)

    def source(self, column: exp.Column, select: exp.Select) -> tuple[str, exp.Expr] | None:
        """Return the item of FROM that a column belongs to, under its name; None where that is not certain."""
        if select.args.get("from_") is None:
            return None
        items = from_items(select)
        if any(item.args.get("joins") or not isinstance(item, _ITEMS) for item in items):
            return None
        named = {alias_of(item): item for item in items}
        if column.args.get("db") is not None:
            return None
        table = column.args.get("table")
        if table is not None:
            item = named.get(fold(table))
            return None if item is None else (fold(table), item)
        own = {
            alias: item for alias, item in named.items() if len(named) == 1 or self._shows(item, fold(column.this))
        }
        return next(iter(own.items())) if len(own) == 1 else None

    def _shows(self, item: exp.Expr, name: str) -> bool:
        """Does an item of FROM have a noisy column of that name? If two have, the database refuses the statement."""
        if isinstance(item, exp.Table) and is_relation(item):
            return name in self.noisy.all.get(item.name, frozenset())
        return place_of(name, self.bodies(item)) is not None


def _keeps_rows(query: exp.SetOperation) -> bool:
    return isinstance(query, exp.Union) and query.args.get("distinct") is False


def _side_by_side(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs of nested UNION ALLs; none of other queries."""
    if isinstance(query, exp.Subquery):
        return [] if any(query.args.get(part) for part in ("alias", "with_", *_CUTS)) else _side_by_side(query.this)
    if not isinstance(query, exp.SetOperation):
        return [query] if isinstance(query, exp.Select) else []
    above, below = _side_by_side(query.this), _side_by_side(query.expression)
    if not (above and below and _keeps_rows(query)) or any(query.args.get(part) for part in ("with_", *_CUTS)):
        return []
    return [*above, *below]


_CUTS = ("order", "limit", "offset", "fetch")


def place_of(name: str, bodies: Sequence[exp.Select]) -> int | None:
    """Return the place of the one column of that name in SELECTs side by side; None without one."""
    found = [place for place, one in enumerate(_names(bodies)) if one == name]
    return found[0] if len(found) == 1 else None


def _names(bodies: Sequence[exp.Select]) -> list[str]:
    """Return the names of the columns of SELECTs side by side; empty if a star hides them."""
    known = len({len(one.expressions) for one in bodies}) == 1
    known = known and not any(item.is_star for one in bodies for item in one.expressions)
    return [output_name(item) for item in bodies[0].expressions] if known else []


def _equal(select: exp.Select) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return the sides of the equalities that hold in each row of a SELECT."""
    conditions = [join.args.get("on") for join in select.args.get("joins") or [] if not join.side]
    conditions += [select.args["where"].this] if select.args.get("where") else []
    parts = [part for one in conditions if one is not None for part in conjuncts(one)]
    return [(part.left.unnest(), part.right.unnest()) for part in parts if isinstance(part, exp.EQ)]


def is_name(tree: exp.Expr) -> bool:
    """Is it a column by its name, and no star?"""
    return isinstance(tree, exp.Column) and isinstance(tree.this, exp.Identifier)


def alias_of(item: exp.Expr) -> str:
    """Return the name of an item of FROM; empty without one."""
    alias = item.args.get("alias")
    if alias is not None and alias.this is not None:
        return fold(alias.this)
    return fold(item.this) if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) else ""
