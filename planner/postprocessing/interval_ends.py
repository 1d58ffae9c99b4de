"""Write interval arithmetic as SQL beside the columns of a statement around answers.

A column built from released values of its own row by sums, differences, written factors and non-decreasing functions
has ends built from their ends. The same database computes both, so only the direction of an operator matters. A
column of k noisy values is right when all k intervals are: with confidence 1 - k (1 - c) by the union bound. Windows,
sums over rows, and quotients of one answer's counts and sums have joint intervals (`joint_noise.py`). Proofs:
docs/mathematics.md, section 9.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from planner.binding.outer_select import equals_noisy_refused
from planner.binding.output_names import output_name
from planner.errors import UnsupportedSQL
from planner.postprocessing.composed import HIGH, LOW, is_relation
from planner.postprocessing.joint_noise import Reach, divided, joint_ends, written_number
from planner.postprocessing.lineage import Lineage, NoisyColumns, is_name, is_plain, place_of
from planner.postprocessing.total_functions import WHOLE
from planner.sql.trees import aggregates, bound_column, copied, fold, holds, named_sql, nodes

_JOINT = "joint "  # with a number, a name that no column has

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


def add_interval_ends(outer: exp.Query, noisy: NoisyColumns) -> ShownIntervals:
    """Append the ends of the intervals to a statement's select list, in place."""
    selects = _stacked(outer)
    lineage = Lineage(outer, noisy)
    ends_of = _Ends(lineage)
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
        known = [one for tree, select in written if (one := ends_of.interval(tree, select)) is not None]
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


def _of_groups(outer: exp.Query, lineage: Lineage) -> Literal["", "window", "aggregate"]:
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


def _is_chosen(select: exp.Select, lineage: Lineage) -> bool:
    """Does noise decide which rows it shows, as in `WHERE rank <= 3` and `ORDER BY n LIMIT 3`?"""
    ranked = [one.this for one in (select.args.get("where"), select.args.get("qualify")) if one is not None]
    if any(lineage.is_noisy(tree, select, inside_windows=True) for tree in ranked):
        return True
    order = select.args.get("order")
    keys = [] if order is None or select.args.get("limit") is None else order.expressions
    named = {output_name(item): item.unalias() for item in select.expressions if not item.is_star}
    meant = [_meant(key.this, select) for key in keys]
    return any(lineage.is_noisy(named.get(tree.name, tree) if is_name(tree) else tree, select) for tree in meant)


def _is_nothing_without_rows(tree: exp.Expr, select: exp.Select, lineage: Lineage) -> bool:
    """Is it 0 or NULL where counts and sums are 0?"""
    if isinstance(tree, exp.Column):
        meant = lineage.meant(tree, select)
        return lineage.is_among(lineage.noisy.added, tree, select) or (
            bool(meant) and all(_is_nothing_without_rows(*one, lineage) for one in meant)
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
    lineage = Lineage(outer, noisy)
    for select in selects:
        group = select.args.get("group")
        written = [] if group is None else group.expressions
        grouped = [_meant(key, select) for key in written]
        columns = [(key, meant) for key, meant in zip(written, grouped, strict=True) if isinstance(meant, exp.Column)]
        uncertain = [(key, one) for key, one in columns if lineage.may_be_noisy(one, select)]
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


def _is_compared(node: exp.Expr, noisy: NoisyColumns, lineage: Lineage, select: exp.Select) -> bool:
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    for side, rest in ((node.this, others), *(((node.expression, [node.this]),) if isinstance(node, exp.EQ) else ())):
        column = side.unnest()
        if isinstance(column, exp.Column) and lineage.may_be_noisy(column, select):
            return bool(rest) and all(written_number(one.unnest()) is not None for one in rest)
    return False


def _is_floored(tree: exp.Expr, select: exp.Select, lineage: Lineage) -> bool:
    """Is it made of parts that are not negative, by operators that keep it so?"""
    if isinstance(tree, exp.Column):
        meant = lineage.meant(tree, select)
        return lineage.is_among(lineage.noisy.floored, tree, select) or (
            bool(meant) and all(_is_floored(*one, lineage) for one in meant)
        )
    if (number := written_number(tree)) is not None:
        return number >= 0
    if isinstance(tree, (exp.Paren, exp.Cast, exp.Nullif, exp.Window, exp.Sum, exp.Avg, *_RISING)):
        return _is_floored(tree.this, select, lineage)
    if isinstance(tree, (exp.Add, exp.Mul, exp.Div)):
        return all(_is_floored(side, select, lineage) for side in (tree.left, tree.right))
    if isinstance(tree, (exp.Coalesce, exp.Greatest)):
        return all(_is_floored(one, select, lineage) for one in (tree.this, *tree.expressions))
    return False


def _is_whole(tree: exp.Expr, select: exp.Select, lineage: Lineage) -> bool:
    """Is it made of whole numbers, some of them noisy, by operators that keep them whole?"""
    if isinstance(tree, exp.Column):
        if tree.is_star or lineage.is_among(lineage.noisy.whole, tree, select):
            return not tree.is_star
        meant = lineage.meant(tree, select)
        return bool(meant) and all(_is_whole(*one, lineage) for one in meant)
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
    lineage = Lineage(outer, noisy)
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
    lineage = Lineage(outer, noisy)
    for node in nodes(outer):
        if isinstance(node, exp.Select):
            lineage.expand(node)


class _Ends:
    """The ends of expressions; `_handed_on` has the columns of subqueries whose ends stand beside them."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage, self._noisy = lineage, lineage.noisy
        self._joint = 0
        self._handed_on: dict[tuple[int, str], int] = {}

    def interval(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """Return the ends of an expression over a SELECT's FROM; None where they are not known."""
        if holds(tree, exp.Window, exp.AggFunc) and (together := self._together(tree, select)) is not None:
            return together
        found = self._monotone(tree, select)
        if found is not None and isinstance(tree, exp.Column) and found.noisy and not is_plain(select):
            return None  # which row of the group it takes is not known
        return found

    def _together(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """Return ends by independent noise; None where rows of the answer may repeat."""
        if not self._lineage.is_single(select):
            return None

        def reach(column: exp.Column) -> Reach | Literal["exact"] | None:
            found = self._column(column, select)
            if found is None or (found.noisy and not self._lineage.is_among(self._noisy.sums, column, select)):
                return None
            if not found.noisy:
                return "exact"
            return _reach(column, found, upward=self._lineage.is_among(self._noisy.floored, column, select))

        ends = joint_ends(tree, reach, grouped=not is_plain(select))
        if ends is None:
            return None
        self._joint += 1
        low, high = (exp.Paren(this=end) for end in ends)
        return _Interval(low, high, frozenset({f"{_JOINT}{self._joint}"}))

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
        if others or len(body.expressions) != 1 or not self._lineage.is_single(body):
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

    def _column(self, column: exp.Column, select: exp.Select) -> _Interval | None:
        """Return the ends of a column of FROM."""
        source = self._lineage.source(column, select)
        if source is None or not isinstance(column.this, exp.Identifier):
            return None
        alias, item = source
        name = fold(column.this)
        if isinstance(item, exp.Table) and is_relation(item):
            if name not in self._noisy.all.get(item.name, frozenset()):
                return _Interval(column, column)
            return _Interval(
                bound_column(alias, f"{name}{LOW}"),
                bound_column(alias, f"{name}{HIGH}"),
                frozenset({f"{alias}.{name}"}),
            )
        return self._within(item, alias, name, column) if self._lineage.nests else None

    def _within(self, item: exp.Expr, alias: str, name: str, column: exp.Column) -> _Interval | None:
        """Return the ends of a column of a subquery or of WITH, whose select lists then have them, too."""
        bodies = self._lineage.bodies(item)
        place = place_of(name, bodies)
        if place is None or not all(map(is_plain, bodies)):
            return None
        first = id(bodies[0])
        if (first, name) not in self._handed_on:
            found = [self.interval(one.expressions[place].unalias(), one) for one in bodies]
            known = [one for one in found if one is not None]
            if len(known) < len(found):
                return None
            self._handed_on[first, name] = max(one.values for one in known)
            if any(one.noisy for one in known):
                for body, one in zip(bodies, known, strict=True):
                    body.append("expressions", named_sql(copied(one.low), f"{name}{LOW}"))
                    body.append("expressions", named_sql(copied(one.high), f"{name}{HIGH}"))
        values = self._handed_on[first, name]
        if not values:
            return _Interval(column, column)
        ends = bound_column(alias, f"{name}{LOW}"), bound_column(alias, f"{name}{HIGH}")
        return _Interval(*ends, frozenset({f"{alias}.{name}"}), values - 1)


def children_of(tree: exp.Expr) -> list[exp.Expr]:
    """The operands of an operator."""
    return [tree.this] if isinstance(tree, exp.Neg) else [tree.this, tree.expression]


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
