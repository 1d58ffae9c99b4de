"""Write interval arithmetic as SQL beside the columns of a statement around answers.

A column built from released values of its own row by sums, differences, written factors and non-decreasing functions
has ends built from their ends. The same database computes both, so only the direction of an operator matters. A
column of k noisy values is right when all k intervals are: with confidence 1 - k (1 - c) by the union bound. Windows,
sums over rows, and quotients of one answer's counts and sums have joint intervals (`joint_noise.py`). Proofs:
docs/mathematics.md, section 9.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from planner.binding.outer_select import equals_noisy_refused
from planner.binding.output_names import output_name
from planner.errors import UnsupportedSQL
from planner.expressions.predicates import conjuncts
from planner.postprocessing.composed import HIGH, LOW, is_relation
from planner.postprocessing.joint_noise import Reach, divided, joint_ends, written_number
from planner.postprocessing.total_functions import WHOLE
from planner.sql.trees import aggregates, bound_column, copied, fold, from_items, holds, named_sql, nodes

_JOINT = "joint "  # with a number, a name that no column has

_Place = tuple[str, str]
"""A column, with the name of its item of FROM."""

_ITEMS = (exp.Table, exp.Subquery, exp.Values, exp.Unnest)
_RISING = (exp.Round, exp.Floor, exp.Ceil, exp.Trunc)
_NUMBER_TYPES = frozenset({"SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"})


@dataclass(frozen=True)
class ShownIntervals:
    """The columns of a statement that have intervals.

    Attributes:
      places: the columns. Behind all columns stand the lower and upper ends of each, in this order.
      values: the most noisy values behind one of them.
      joint: columns whose intervals assume independent noise.
      floored: columns that cannot be negative, made of counts and sums that cannot.
      keys: columns that are a group key of an answer, with relation and name.
      of_groups: does an aggregate, or a window, depend on how many groups an answer lists? A group that has no row
        adds nothing to a sum, but it counts in an average, an extreme, a rank or a number of groups.
      chosen: does noise decide which rows are shown, by a condition on a rank or by LIMIT?
    """

    places: tuple[int, ...] = ()
    values: int = 1
    joint: tuple[int, ...] = ()
    floored: tuple[int, ...] = ()
    keys: tuple[tuple[int, str, str], ...] = ()
    of_groups: Literal["", "window", "aggregate"] = ""
    chosen: bool = False


@dataclass(frozen=True)
class _Interval:
    """SQL of the ends of an expression, and the noisy values behind it."""

    low: exp.Expr
    high: exp.Expr
    noisy: frozenset[str] = frozenset()
    extra: int = 0  # further values behind a noisy column of a subquery

    @property
    def values(self) -> int:
        """How many intervals must be right for this one to be right."""
        return len(self.noisy) + self.extra


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


def add_interval_ends(outer: exp.Query, noisy: NoisyColumns) -> ShownIntervals:
    """Append the ends of the intervals to a statement's select list, in place."""
    selects = _stacked(outer)
    lineage = _Lineage(outer, noisy)
    of_groups = _of_groups(outer, lineage)  # before the sums of ends stand there
    chosen = any(_is_chosen(node, lineage) for node in nodes(outer) if isinstance(node, exp.Select))
    columns = list(enumerate(zip(*([item.unalias() for item in one.expressions] for one in selects), strict=False)))
    floored: list[int] = []
    found: list[tuple[int, list[_Interval]]] = []
    keys: list[tuple[int, str, str]] = []
    for place, trees in columns:
        written = list(zip(trees, selects, strict=True))
        if all(_is_floored(tree, select, lineage) for tree, select in written):
            floored.append(place)
        if len(selects) == 1 and (named := lineage.key(*written[0])) is not None:
            keys.append((place, *named))
        known = [one for tree, select in written if (one := lineage.interval(tree, select)) is not None]
        if len(known) == len(selects) and any(one.noisy for one in known):
            found.append((place, known))
    for number, (_, known) in enumerate(found):
        for select, one in zip(selects, known, strict=True):
            select.append("expressions", named_sql(copied(one.low), f"{number}{LOW}"))
            select.append("expressions", named_sql(copied(one.high), f"{number}{HIGH}"))
    ends = [(place, one) for place, known in found for one in known]
    return ShownIntervals(
        tuple(place for place, _ in found),
        max((one.values for _, one in ends), default=1),
        tuple({place: None for place, one in ends if any(name.startswith(_JOINT) for name in one.noisy)}),
        tuple(floored),
        tuple(keys),
        of_groups,
        chosen,
    )


def _of_groups(outer: exp.Query, lineage: _Lineage) -> Literal["", "window", "aggregate"]:
    """How the statement depends on the number of groups (`ShownIntervals.of_groups`)."""
    found: Literal["", "window", "aggregate"] = ""
    for node in nodes(outer):
        select = node.find_ancestor(exp.Select)
        if not isinstance(node, exp.AggFunc) or select is None:
            continue
        if isinstance(node, exp.Sum) and _is_nothing_without_rows(node.this, select, lineage):
            continue
        if any(is_relation(table) for table in select.find_all(exp.Table)) or outer.args.get("with_"):
            if not isinstance(node.find_ancestor(exp.Window, exp.Select), exp.Window):
                return "aggregate"
            found = "window"
    return found


def _is_chosen(select: exp.Select, lineage: _Lineage) -> bool:
    """Does noise decide which rows it shows, as in `WHERE rank <= 3` and `ORDER BY n LIMIT 3`?"""
    ranked = [one.this for one in (select.args.get("where"), select.args.get("qualify")) if one is not None]
    if any(lineage.is_noisy(tree, select, inside_windows=True) for tree in ranked):
        return True
    order = select.args.get("order")
    keys = [] if order is None or select.args.get("limit") is None else order.expressions
    named = {output_name(item): item.unalias() for item in select.expressions if not item.is_star}
    meant = [_meant(key.this, select) for key in keys]
    return any(lineage.is_noisy(named.get(tree.name, tree) if _is_name(tree) else tree, select) for tree in meant)


def _is_nothing_without_rows(tree: exp.Expr, select: exp.Select, lineage: _Lineage) -> bool:
    """Is it 0 or NULL where counts and sums are 0?"""
    if isinstance(tree, exp.Column):
        meant = lineage.meant(tree, select)
        return lineage.is_among(lineage.added, tree, select) or (
            meant is not None and _is_nothing_without_rows(*meant, lineage)
        )
    if isinstance(tree, exp.Null) or written_number(tree) == 0:
        return True
    some, parts = all, list[exp.Expr]()
    if isinstance(tree, (exp.Paren, exp.Neg, exp.Cast, exp.Nullif, exp.Sum, exp.Div)):
        parts = [tree.this]
    elif isinstance(tree, exp.Mul):
        some, parts = any, [tree.left, tree.right]
    elif isinstance(tree, (exp.Add, exp.Sub, exp.Coalesce)):
        parts = [tree.this, *(tree.expressions if isinstance(tree, exp.Coalesce) else [tree.expression])]
    elif isinstance(tree, exp.Case):
        parts = [*(one.args["true"] for one in tree.args["ifs"]), tree.args.get("default") or exp.Null()]
    return bool(parts) and some(_is_nothing_without_rows(part, select, lineage) for part in parts)


def _stacked(query: exp.Expr) -> list[exp.Select]:
    """The SELECTs of nested UNION ALLs, whose rows stay as they are; none where rows merge or a star stands."""
    if isinstance(query, exp.Union) and query.args.get("distinct") is False:
        above, below = _stacked(query.this), _stacked(query.expression)
        return [*above, *below] if above and below else []
    if not isinstance(query, exp.Select) or query.args.get("distinct") is not None:
        return []
    return [] if any(item.is_star for item in query.expressions) else [query]


def check_counted_groups(outer: exp.Query, noisy: NoisyColumns) -> None:
    """Refuse aggregates over groups that a noisy number decides by equality: `GROUP BY n`, or `n = 1`.

    What PostgreSQL means is the number of groups whose true number is that one. Noise would decide nearly all of it.
    A number that the other columns of GROUP BY determine decides nothing: `GROUP BY city, size_of_the_city`.

    Raises: UnsupportedSQL.
    """
    selects = [node for node in nodes(outer) if isinstance(node, exp.Select)]
    if not any(
        select.args.get("group") or any(aggregates(item)) for select in selects for item in select.expressions
    ):
        return
    lineage = _Lineage(outer, noisy)
    for select in selects:
        group = select.args.get("group")
        written = [] if group is None else group.expressions
        grouped = [_meant(key, select) for key in written]
        columns = [(key, meant) for key, meant in zip(written, grouped, strict=True) if isinstance(meant, exp.Column)]
        uncertain = [(key, one) for key, one in columns if lineage.is_among(noisy.all, one, select)]
        exact = [one for key, one in columns if (key, one) not in uncertain]
        for key, one in uncertain:
            if not lineage.is_determined(one, exact, select):
                hint = "group by CASE WHEN n >= 10 THEN 'many' ELSE 'few' END"
                message = "grouping by a noisy number is not supported: noise decides which groups are alike"
                raise UnsupportedSQL(message, hint=hint, at=key)
        for part in (select.args.get("where"), select.args.get("having"), *select.expressions):
            for node in [] if part is None else nodes(part):
                if isinstance(node, (exp.EQ, exp.In)) and _is_compared(node, noisy, lineage, select):
                    raise equals_noisy_refused(node)


def _meant(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the item of the select list that a number in GROUP BY names; other keys as they are."""
    if isinstance(key, exp.Literal) and key.name.isdigit() and 0 < int(key.name) <= len(select.expressions):
        key = select.expressions[int(key.name) - 1].unalias()
    return key


def _is_compared(node: exp.Expr, noisy: NoisyColumns, lineage: _Lineage, select: exp.Select) -> bool:
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    for side, rest in ((node.this, others), *(((node.expression, [node.this]),) if isinstance(node, exp.EQ) else ())):
        column = side.unnest()
        if isinstance(column, exp.Column) and lineage.is_among(noisy.all, column, select):
            return bool(rest) and all(written_number(one.unnest()) is not None for one in rest)
    return False


def _is_floored(tree: exp.Expr, select: exp.Select, lineage: _Lineage) -> bool:
    """Is it made of parts that are not negative, by operators that keep it so?"""
    if isinstance(tree, exp.Column):
        return lineage.is_among(lineage.floored, tree, select)
    if (number := written_number(tree)) is not None:
        return number >= 0
    if isinstance(tree, (exp.Paren, exp.Cast, exp.Nullif, exp.Window, exp.Sum, exp.Avg, *_RISING)):
        return _is_floored(tree.this, select, lineage)
    if isinstance(tree, (exp.Add, exp.Mul, exp.Div)):
        return all(_is_floored(side, select, lineage) for side in (tree.left, tree.right))
    if isinstance(tree, (exp.Coalesce, exp.Greatest)):
        return all(_is_floored(one, select, lineage) for one in (tree.this, *tree.expressions))
    return False


def _is_whole(tree: exp.Expr, select: exp.Select, lineage: _Lineage) -> bool:
    """Is it made of whole numbers, some of them noisy, by operators that keep them whole?"""
    if isinstance(tree, exp.Column):
        return not tree.is_star and lineage.is_among(lineage.whole, tree, select)
    if isinstance(tree, (exp.Paren, exp.Neg, exp.Window, exp.Sum, exp.Max, exp.Min)):
        return not tree.expressions and _is_whole(tree.this, select, lineage)
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Select) and len(tree.this.expressions) == 1:
        return _is_whole(tree.this.expressions[0].unalias(), tree.this, lineage)
    if isinstance(tree, (exp.Lag, exp.Lead)):
        default = tree.args.get("default")
        fits = default is None or (isinstance(default, exp.Literal) and default.is_int)
        return fits and _is_whole(tree.this, select, lineage)
    if isinstance(tree, (exp.Add, exp.Sub, exp.Coalesce, exp.Greatest, exp.Least)):
        parts = tree.expressions if isinstance(tree, exp.Func) else [tree.expression]
        noisy = [one for one in (tree.this, *parts) if not (isinstance(one, exp.Literal) and one.is_int)]
        return bool(noisy) and all(_is_whole(one, select, lineage) for one in noisy)
    return False


def name_columns(outer: exp.Query, noisy: NoisyColumns) -> None:
    """Name a statement's columns as PostgreSQL does, and cast counts and their sums to bigint, in place."""
    lineage = _Lineage(outer, noisy)
    selects = _each_select(outer)
    width = len(selects[0].expressions) if selects else 0
    same = all(len(one.expressions) == width and not _has_star(one) for one in selects[1:])
    whole = [
        same and all(_is_whole(one.expressions[place].unalias(), one, lineage) for one in selects)
        for place in range(width)
    ]
    for select in selects if same and not any(map(_has_star, selects)) else selects[:1]:
        _name_columns(select, whole)


def _has_star(select: exp.Select) -> bool:
    return any(item.is_star for item in select.expressions)


def _each_select(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs whose rows a statement shows."""
    if isinstance(query, exp.SetOperation):
        return [*_each_select(query.this), *_each_select(query.expression)]
    if isinstance(query, exp.Subquery):
        return _each_select(query.this)
    return [query] if isinstance(query, exp.Select) else []


def _name_columns(select: exp.Select, whole: Sequence[bool]) -> None:
    items = []
    group = select.args.get("group")
    keys = [] if group is None else list(group.expressions)
    for number, (item, is_whole) in enumerate(zip(select.expressions, whole, strict=True), 1):
        tree = item.unalias()
        if is_whole:
            # a key is the column, which other items may show, and not its cast
            here = exp.Literal.number(number)
            keys = [copied(tree) if key == here else key for key in keys]
            known = isinstance(tree, exp.Column)
            tree = exp.Cast(this=tree, to=exp.DataType.build("BIGINT"))
            if known:
                tree.meta[WHOLE] = True
        items.append(item if item.is_star else named_sql(copied(tree), output_name(item)))
    select.set("expressions", items)
    if group is not None:
        group.set("expressions", keys)


def expand_stars(outer: exp.Query, noisy: NoisyColumns) -> None:
    """Write the columns that `*` and `t.*` stand for in their place, where subqueries and WITH name all of them."""
    lineage = _Lineage(outer, noisy)
    for node in nodes(outer):
        if isinstance(node, exp.Select):
            lineage.expand(node)


def _is_plain(select: exp.Select) -> bool:
    """Does each of its rows come from one row of its FROM?"""
    if select.args.get("distinct") is not None or select.args.get("group") is not None:
        return False
    return not any(
        isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window, exp.Select) is select
        for item in select.expressions
        for node in nodes(item)
    )


class _Lineage:
    def __init__(self, outer: exp.Query, noisy: NoisyColumns) -> None:
        self._noisy, self._sums, self._keys = noisy.all, noisy.sums, noisy.keys
        self.floored, self.whole, self.added = noisy.floored, noisy.whole, noisy.added
        self._joint = 0
        everywhere = nodes(outer)
        stars = any(
            isinstance(node, exp.Select) and any(item.is_star for item in node.expressions) for node in everywhere
        )
        natural = any(isinstance(node, exp.Join) and node.method for node in everywhere)
        self._nests = not stars and not natural and not any(isinstance(node, exp.SetOperation) for node in everywhere)
        clause = outer.args.get("with_")
        self._common = {fold(entry.args["alias"].this): entry for entry in (clause.expressions if clause else ())}
        self._handed_on: dict[tuple[int, str], int] = {}

    def interval(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """Return the ends of an expression over a SELECT's FROM; None where they are not known."""
        if holds(tree, exp.Window, exp.AggFunc) and (together := self._together(tree, select)) is not None:
            return together
        found = self._monotone(tree, select)
        if found is not None and isinstance(tree, exp.Column) and found.noisy and not _is_plain(select):
            return None  # which row of the group it takes is not known
        return found

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
        sources = [one for one in sources if table is None or _alias(one) == fold(table)]
        if not sources or any(mark.args.values()):
            return None
        found: list[exp.Expr] = []
        for source in sources:
            body = self._body(source)
            if body is None or not _alias(source) or source.args.get("joins"):
                return None
            self.expand(body)
            names = [output_name(one) for one in body.expressions]
            named = all(isinstance(one, exp.Alias) or _is_name(one) for one in body.expressions)
            if not named or len(set(names)) < len(names):
                return None
            found += [bound_column(_alias(source), name) for name in names]
        return found

    def key(self, tree: exp.Expr, select: exp.Select) -> tuple[str, str] | None:
        """Return the relation and column of an exact column; None for other expressions."""
        source = self._source(tree, select) if isinstance(tree, exp.Column) and _is_plain(select) else None
        if source is None or not isinstance(source[1], exp.Table) or not is_relation(source[1]):
            return None
        name = fold(tree.this)
        return None if name in self._noisy.get(source[1].name, frozenset()) else (source[1].name, name)

    def _together(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """Return ends by independent noise; None where rows of the answer may repeat."""
        if not self._is_single(select):
            return None

        def reach(column: exp.Column) -> Reach | Literal["exact"] | None:
            found = self._column(column, select)
            if found is None or (found.noisy and not self.is_among(self._sums, column, select)):
                return None
            if not found.noisy:
                return "exact"
            return _reach(column, found, upward=self.is_among(self.floored, column, select))

        ends = joint_ends(tree, reach, grouped=not _is_plain(select))
        if ends is None:
            return None
        self._joint += 1
        low, high = (exp.Paren(this=end) for end in ends)
        return _Interval(low, high, frozenset({f"{_JOINT}{self._joint}"}))

    def _is_single(self, select: exp.Select) -> bool:
        """Is it over one answer alone, directly or through subqueries?"""
        clause = select.args.get("from_")
        if clause is None or select.args.get("joins") or select.args.get("laterals"):
            return False
        if isinstance(clause.this, exp.Table) and is_relation(clause.this):
            return True
        body = self._body(clause.this)
        return body is not None and _is_plain(body) and self._is_single(body)

    def _monotone(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """Return the ends of an expression that is monotone in the values of one row."""
        if isinstance(tree, exp.Column):
            return self._column(tree, select)
        if isinstance(tree, (exp.Literal, exp.DataType, exp.Var)):
            return _Interval(tree, tree)
        if isinstance(tree, exp.Paren):
            return self._applied(tree, select, lambda ends: exp.Paren(this=ends[0]), [tree.this])
        if isinstance(tree, exp.Cast) and tree.to.this.name in _NUMBER_TYPES:
            return self._applied(tree, select, lambda ends: exp.Cast(this=ends[0], to=copied(tree.to)), [tree.this])
        if isinstance(tree, _RISING):
            kept = {name: value for name, value in tree.args.items() if name != "this"}
            if any(isinstance(value, exp.Expr) and written_number(value) is None for value in kept.values()):
                return None
            return self._applied(tree, select, lambda ends: type(tree)(this=ends[0], **kept), [tree.this])
        if isinstance(tree, (exp.Greatest, exp.Least)):
            kind, arguments = type(tree), [tree.this, *tree.expressions]
            return self._applied(tree, select, lambda ends: kind(this=ends[0], expressions=ends[1:]), arguments)
        if isinstance(tree, exp.Nullif) and written_number(tree.expression) == 0:
            return self._applied(tree, select, lambda ends: ends[0], [tree.this])
        if isinstance(tree, exp.Coalesce) and all(written_number(one) is not None for one in tree.expressions):
            return self._applied(tree, select, lambda ends: ends[0], [tree.this])  # nothing is known of a missing row
        if isinstance(tree, exp.Subquery):
            return self._one_value(tree)
        rule = _RULES.get(type(tree))
        if rule is None:
            return None
        sides = [self.interval(side, select) for side in children_of(tree)]
        known = [side for side in sides if side is not None]
        return rule(tree, known) if len(known) == len(sides) else None

    def _one_value(self, tree: exp.Subquery) -> _Interval | None:
        """Return the ends of a subquery that is a value of one answer: subqueries for them in its place."""
        body = tree.this
        others = {name for name, value in body.args.items() if value} - {"expressions", "from_", "where"}
        if others or len(body.expressions) != 1 or not self._is_single(body):
            return None
        found = self.interval(body.expressions[0].unalias(), body)
        if found is None:
            return None
        low, high = copied(tree), copied(tree)
        low.this.set("expressions", [copied(found.low)])
        high.this.set("expressions", [copied(found.high)])
        return _Interval(low, high, frozenset(f"{name} {id(tree)}" for name in found.noisy), found.extra)

    def _applied(
        self,
        tree: exp.Expr,
        select: exp.Select,
        build: Callable[[list[exp.Expr]], exp.Expr],
        arguments: list[exp.Expr],
    ) -> _Interval | None:
        """Return the ends of a function that decreases in none of its arguments."""
        found = [self.interval(one, select) for one in arguments]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        low, high = build([copied(one.low) for one in known]), build([copied(one.high) for one in known])
        return _joined(low, high, known)

    def is_among(self, columns: Mapping[str, frozenset[str]], column: exp.Column, select: exp.Select) -> bool:
        """Is a column one of these columns of relations, unchanged?"""
        source = self._source(column, select)
        if source is None:
            return False
        _, item = source
        name = fold(column.this)
        if isinstance(item, exp.Table) and is_relation(item):
            return name in columns.get(item.name, frozenset())
        meant = self.meant(column, select)
        tree, body = meant or (None, select)
        return isinstance(tree, exp.Column) and self.is_among(columns, tree, body)

    def meant(self, column: exp.Column, select: exp.Select) -> tuple[exp.Expr, exp.Select] | None:
        """Return the expression that a column of a subquery is, and that subquery."""
        source = self._source(column, select)
        body = None if source is None else self._body(source[1])
        items = [] if body is None else [one for one in body.expressions if not one.is_star]
        named = [one.unalias() for one in items if output_name(one) == fold(column.this)]
        return None if body is None or len(named) != 1 else (named[0], body)

    def is_noisy(self, tree: exp.Expr, select: exp.Select, inside_windows: bool = False) -> bool:
        """Is an expression over a SELECT's FROM computed from noisy columns?

        Args:
          inside_windows: of the columns of subqueries, those alone that are computed over other rows.
        """
        for column in [node for node in nodes(tree) if isinstance(node, exp.Column)]:
            if not inside_windows and self.is_among(self._noisy, column, select):
                return True
            meant = self.meant(column, select)
            if meant is not None and (not inside_windows or holds(meant[0], exp.Window)) and self.is_noisy(*meant):
                return True
        return False

    def is_determined(self, column: exp.Column, others: Sequence[exp.Column], select: exp.Select) -> bool:
        """Do other columns fix which row of an answer a column is of, also by the equalities of joins?"""
        source = self._source(column, select)
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
            return self._keys.get(item.name)
        body = self._body(item)
        inner = from_items(body)[0] if body is not None and _is_plain(body) and len(from_items(body)) == 1 else None
        keys = None if inner is None else self._identifying(inner)
        if body is None or keys is None:
            return None
        keys -= {fold(one.this) for one, other in _equal(body) if _is_name(one) and isinstance(other, exp.Literal)}
        named = {fold(one.unalias().this): output_name(one) for one in body.expressions if _is_name(one.unalias())}
        return frozenset(named[key] for key in keys) if keys <= named.keys() else None

    def _equalities(self, select: exp.Select) -> list[tuple[_Place, _Place]]:
        """Return the pairs of columns that a SELECT equates in ON and in WHERE."""
        return [
            (self._place(one, select), self._place(other, select))
            for one, other in _equal(select)
            if _is_name(one) and _is_name(other)
        ]

    def _place(self, column: exp.Expr, select: exp.Select) -> _Place:
        """Return a column with the name of its item of FROM; an unqualified one of several items has none."""
        source = self._source(column, select) if isinstance(column, exp.Column) else None
        return ("" if source is None else source[0], fold(column.this))

    def _column(self, column: exp.Column, select: exp.Select) -> _Interval | None:
        """Return the ends of a column of FROM."""
        source = self._source(column, select)
        if source is None or not isinstance(column.this, exp.Identifier):
            return None
        alias, item = source
        name = fold(column.this)
        if isinstance(item, exp.Table) and is_relation(item):
            if name not in self._noisy.get(item.name, frozenset()):
                return _Interval(column, column)
            return _Interval(
                bound_column(alias, f"{name}{LOW}"),
                bound_column(alias, f"{name}{HIGH}"),
                frozenset({f"{alias}.{name}"}),
            )
        return self._within(item, alias, name, column) if self._nests else None

    def _within(self, item: exp.Expr, alias: str, name: str, column: exp.Column) -> _Interval | None:
        """Return the ends of a column of a subquery or of WITH, whose select list then has them, too."""
        body = self._body(item)
        if body is None or not _is_plain(body):
            return None
        named = [one for one in body.expressions if output_name(one) == name]
        if len(named) != 1:
            return None
        if (id(body), name) not in self._handed_on:
            found = self.interval(named[0].unalias(), body)
            if found is None:
                return None
            self._handed_on[id(body), name] = found.values
            if found.noisy:
                body.append("expressions", named_sql(copied(found.low), f"{name}{LOW}"))
                body.append("expressions", named_sql(copied(found.high), f"{name}{HIGH}"))
        values = self._handed_on[id(body), name]
        if not values:
            return _Interval(column, column)
        ends = bound_column(alias, f"{name}{LOW}"), bound_column(alias, f"{name}{HIGH}")
        return _Interval(*ends, frozenset({f"{alias}.{name}"}), values - 1)

    def _body(self, item: exp.Expr) -> exp.Select | None:
        """Return the SELECT behind an item of FROM, where it names its columns itself."""
        alias = item.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return None
        body: exp.Expr | None = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(item, exp.Table):
            entry = self._common.get(fold(item.this)) if item.args.get("db") is None else None
            if entry is None or entry.args["alias"].args.get("columns"):
                return None
            body = entry.this
        return body if isinstance(body, exp.Select) else None

    def _source(self, column: exp.Column, select: exp.Select) -> tuple[str, exp.Expr] | None:
        """Return the item of FROM that a column belongs to, under its name; None where that is not certain."""
        if select.args.get("from_") is None:
            return None
        items = from_items(select)
        if any(item.args.get("joins") or not isinstance(item, _ITEMS) for item in items):
            return None
        named = {_alias(item): item for item in items}
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
            return name in self._noisy.get(item.name, frozenset())
        body = self._body(item)
        return body is not None and any(output_name(one) == name for one in body.expressions)


def _equal(select: exp.Select) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return the sides of the equalities that hold in each row of a SELECT."""
    conditions = [join.args.get("on") for join in select.args.get("joins") or [] if not join.side]
    conditions += [select.args["where"].this] if select.args.get("where") else []
    parts = [part for one in conditions if one is not None for part in conjuncts(one)]
    return [(part.left.unnest(), part.right.unnest()) for part in parts if isinstance(part, exp.EQ)]


def _is_name(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column) and isinstance(tree.this, exp.Identifier)


def children_of(tree: exp.Expr) -> list[exp.Expr]:
    """The operands of an operator."""
    return [tree.this] if isinstance(tree, exp.Neg) else [tree.this, tree.expression]


def _alias(item: exp.Expr) -> str:
    alias = item.args.get("alias")
    if alias is not None and alias.this is not None:
        return fold(alias.this)
    return fold(item.this) if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) else ""


def _reach(column: exp.Column, found: _Interval, *, upward: bool) -> Reach:
    """Return how far the truth may be from a value. The longer side's excess is no noise.

    Args:
      upward: is the excess only possible above, as for counts and sums of values that are not negative?
    """
    down, up = (
        exp.Paren(this=exp.Sub(this=copied(above), expression=copied(below)))
        for above, below in ((column, found.low), (found.high, column))
    )
    more, less = (
        exp.Paren(this=exp.Sub(this=copied(one), expression=copied(other))) for one, other in ((up, down), (down, up))
    )
    if upward:
        return Reach(down, above=more)
    nothing = exp.Literal.number(0)
    below, above = (exp.Greatest(this=one, expressions=[copied(nothing)]) for one in (less, more))
    return Reach(exp.Least(this=down, expressions=[up]), below, above)


def _joined(low: exp.Expr, high: exp.Expr, parts: list[_Interval]) -> _Interval:
    noisy = frozenset[str]().union(*(part.noisy for part in parts))
    return _Interval(low, high, noisy, sum(part.extra for part in parts))


def _negated(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    (inner,) = parts
    return _joined(exp.Neg(this=copied(inner.high)), exp.Neg(this=copied(inner.low)), parts)


def _added(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    left, right = parts
    low = exp.Add(this=copied(left.low), expression=copied(right.low))
    return _joined(low, exp.Add(this=copied(left.high), expression=copied(right.high)), parts)


def _subtracted(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    left, right = parts
    low = exp.Sub(this=copied(left.low), expression=exp.Paren(this=copied(right.high)))
    high = exp.Sub(this=copied(left.high), expression=exp.Paren(this=copied(right.low)))
    return _joined(low, high, parts)


def _scaled(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    """Multiply by a written number. Its sign decides which end becomes which."""
    (left, right), (first, second) = parts, (written_number(tree.this), written_number(tree.expression))
    if first is not None and second is None:
        ends = [exp.Mul(this=copied(tree.this), expression=copied(end)) for end in (right.low, right.high)]
    elif second is not None:
        ends = [exp.Mul(this=copied(end), expression=copied(tree.expression)) for end in (left.low, left.high)]
    else:
        return _outermost(_multiplied, parts, None)
    low, high = ends if (second if first is None else first) >= 0 else reversed(ends)  # type: ignore[operator]
    return _joined(low, high, parts)


def _divided(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    by = written_number(tree.expression)
    if by is None:
        zero = exp.Literal.number(0)
        above = exp.GT(this=copied(parts[1].low), expression=zero)
        below = exp.LT(this=copied(parts[1].high), expression=copied(zero))
        return _outermost(divided, parts, exp.Paren(this=exp.Or(this=above, expression=below)))
    ends = [divided(copied(end), copied(tree.expression)) for end in (parts[0].low, parts[0].high)]
    low, high = ends if by >= 0 else reversed(ends)
    return _joined(low, high, parts)


def _multiplied(left: exp.Expr, right: exp.Expr) -> exp.Mul:
    return exp.Mul(this=left, expression=right)


def _outermost(
    operator: Callable[[exp.Expr, exp.Expr], exp.Expr], parts: list[_Interval], where: exp.Expr | None
) -> _Interval:
    """Return the least and the greatest corner; open where an end is, or where the condition does not hold."""
    pairs = [(one, other) for one in (parts[0].low, parts[0].high) for other in (parts[1].low, parts[1].high)]
    values: list[exp.Expr] = [
        operator(exp.Paren(this=copied(one)), exp.Paren(this=copied(other))) for one, other in pairs
    ]
    added = values[0]
    for value in values[1:]:
        added = exp.Add(this=added, expression=value)
    known: exp.Expr = exp.Not(this=exp.Is(this=exp.Paren(this=copied(added)), expression=exp.Null()))
    ends = []
    for kind in (exp.Least, exp.Greatest):
        value = kind(this=copied(values[0]), expressions=[copied(one) for one in values[1:]])
        inner = exp.Case(ifs=[exp.If(this=copied(known), true=value)])
        ends.append(inner if where is None else exp.Case(ifs=[exp.If(this=copied(where), true=inner)]))
    low, high = ends
    return _joined(low, high, parts)


_Rule = Callable[[exp.Expr, list[_Interval]], _Interval | None]

_RULES: Mapping[type[exp.Expr], _Rule] = {
    exp.Neg: _negated,
    exp.Add: _added,
    exp.Sub: _subtracted,
    exp.Mul: _scaled,
    exp.Div: _divided,
}
