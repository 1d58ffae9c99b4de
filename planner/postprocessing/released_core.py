"""Splits a SELECT that aggregates private rows into its core, the group keys and aggregates, and a SELECT around it.

    SELECT upper(w), count(*) / sum(count(*)) OVER () FROM visit GROUP BY w HAVING count(*) > 9 ORDER BY 2
      --> SELECT w AS k1, count(*) AS a1 FROM visit GROUP BY 1
      and SELECT upper(k1), a1 / sum(a1) OVER () FROM answer WHERE a1 > 9 ORDER BY 2

For ROLLUP, CUBE and GROUPING SETS the core has the finest groups, by all keys. Every level is added up from the same
released values, so the levels agree. This works for counts, sums and averages; others are in `finer_groups.py`.
Deviations and variances of a level are computed from counts, sums and sums of squares:

    SELECT stddev_samp(x) FROM visit
      --> SELECT count(x) AS a1, sum(x) AS a2, sum(x * x) AS a3 FROM visit
      and SELECT CASE WHEN a1 > 1 THEN sqrt(greatest(0, a3 - a2 * a2 / a1) / (a1 - 1)) END FROM answer

Noise may make the difference of squares negative, where the deviation is 0, or the count less than one, where it is
NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.parsing.postgres_parser import LABEL
from planner.postprocessing.beside_answers import BesideAnswers
from planner.postprocessing.composed import NotComposed
from planner.sql.trees import (
    aggregates,
    bound_column,
    children,
    columns_of,
    conjunction,
    copied,
    fold,
    holds,
    named_sql,
    position_of,
)

_KINDS: Mapping[type[exp.Expr], tuple[bool, bool]] = {
    exp.Stddev: (True, True),
    exp.StddevSamp: (True, True),
    exp.StddevPop: (True, False),
    exp.Variance: (False, True),
    exp.VariancePop: (False, False),
}
"""For each aggregate: is it a root, and does it divide by the count minus one?"""


def spread(call: exp.Expr, released: Callable[[exp.Expr], exp.Expr]) -> exp.Expr | None:
    """Write a deviation or variance over counts and sums; None for other aggregates and for DISTINCT.

    `released`: returns the released value that stands for an aggregate of the same rows.
    """
    kind = _KINDS.get(type(call))
    if kind is None or holds(call, exp.Distinct):
        return None
    rooted, sampled = kind
    value = call.this

    label = str(call.meta.get(LABEL) or type(call).__name__.lower())

    def one(what: str, made: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        aggregate = made(copied(value))
        aggregate.meta[LABEL] = f"{label}, {what}"
        return released(aggregate)

    def count() -> exp.Expr:
        return one("how many", lambda x: exp.Count(this=x, big_int=True))

    def total() -> exp.Expr:
        return one("sum", lambda x: exp.Sum(this=x))

    def square(x: exp.Expr) -> exp.Expr:
        return exp.Mul(this=exp.Paren(this=x), expression=exp.Paren(this=copied(x)))

    squares = one("sum of squares", lambda x: exp.Sum(this=square(x)))
    mean_part = exp.Div(this=exp.Mul(this=total(), expression=total()), expression=count(), typed=True)
    around = exp.Greatest(this=exp.Literal.number(0), expressions=[exp.Sub(this=squares, expression=mean_part)])
    fewer = exp.Paren(this=exp.Sub(this=count(), expression=exp.Literal.number(1))) if sampled else count()
    found: exp.Expr = exp.Div(this=around, expression=fewer, typed=True)
    enough = exp.GT(this=count(), expression=exp.Literal.number(1 if sampled else 0))
    return exp.Case(ifs=[exp.If(this=enough, true=exp.Sqrt(this=found) if rooted else found)])


LEVELS = (exp.Rollup, exp.Cube, exp.GroupingSets)
ADDS_UP: tuple[type[exp.Expr], ...] = (exp.Count, exp.Sum, exp.Avg, *_KINDS)
"""Aggregates that follow from those of finer groups, without DISTINCT."""

_ANSWER = "answer"
CARRIED = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
     "windows"}
)  # fmt: skip
"""The clauses of a SELECT that the question or the outer SELECT keeps."""


def subqueries(select: exp.Select) -> list[exp.Query]:
    """List the queries in conditions and the select list, but not those in FROM, WITH or one another."""
    found: list[exp.Query] = []
    skipped = [select.args.get(part) for part in ("with_", "from_")]
    waiting = [child for child in children(select) if not any(child is one for one in skipped)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query) and (not isinstance(node, exp.Subquery) or isinstance(node.this, exp.Query)):
            found.append(node)
            continue
        if isinstance(node, exp.Join):
            waiting += [part for part in (node.args.get("on"),) if part is not None]
            continue
        waiting += children(node)
    return found


def asks_for_groups(select: exp.Select, but: str = "") -> bool:
    """Whether a SELECT aggregates rows or has group keys, ignoring the clause named in `but`."""
    if any(part != but and select.args.get(part) is not None for part in ("group", "having", "distinct")):
        return True
    trees = [*select.expressions, *filter(None, [select.args.get("order")])]
    return any(True for tree in trees for _ in aggregates(tree))


@dataclass
class ReleasedCore:
    """The question, and the SELECT over its answer, which still lacks its FROM.

    Attributes:
      question: what is asked of private rows.
      outer: reads columns k1, k2, ... and a1, a2, ... of a relation named `answer`.
      more_keys: is it grouped by columns beyond the written keys, which meet an answer?
    """

    question: exp.Select
    outer: exp.Select
    more_keys: bool = False

    def over(self, answer: exp.Table | exp.Subquery) -> exp.Select:
        """Return the SELECT over the answer: its relation, or a query over several."""
        answer.set("alias", exp.TableAlias(this=exp.to_identifier(_ANSWER, quoted=True)))
        self.outer.set("from_", exp.From(this=answer))
        return self.outer


def released_core(
    select: exp.Select, names_column: Callable[[str], bool], adds_up: bool, beside: BesideAnswers | None
) -> ReleasedCore:
    """Split a SELECT.

    Args:
      select: reads and aggregates private rows; it is taken apart.
      names_column: may a plain name mean a column of its FROM?
      adds_up: does the answer have several rows for a group, to be added up?
      beside: the clauses that read answers, already removed from `select`.
    Raises: NotComposed for a column outside keys and aggregates, for a star in the select list, and for levels of
      aggregates that do not add up.
    """
    return _Splitting(select, names_column, adds_up, beside).core()


class _Splitting:
    def __init__(
        self, select: exp.Select, names_column: Callable[[str], bool], adds_up: bool, beside: BesideAnswers | None
    ) -> None:
        self._select = select
        self._beside = beside
        self._names_column = names_column
        group = select.args.get("group")
        self._levels = adds_up or beside is not None or (group is not None and holds(group, *LEVELS))
        self._keys: list[exp.Expr] = []
        self._more_keys = False
        self._aggregates: dict[str, tuple[str, exp.Expr]] = {}

    def core(self) -> ReleasedCore:
        """Return the question and the SELECT over its answer."""
        select = self._select
        if any(item.is_star for item in select.expressions):
            raise NotComposed
        if any(value for part, value in select.args.items() if part not in CARRIED):
            raise NotComposed  # for example FOR UPDATE, which the outer SELECT would lose
        distinct = select.args.get("distinct")
        if distinct is not None and not asks_for_groups(select, but="distinct"):
            raise NotComposed  # a SELECT DISTINCT of groups has nothing to split
        outer = self._outer()
        question = exp.Select(
            expressions=[
                *(named_sql(copied(key), f"k{place}") for place, key in enumerate(self._keys, 1)),
                *(named_sql(call, name) for name, call in self._aggregates.values()),
            ]
        )
        for part in ("from_", "joins", "where"):
            if select.args.get(part):
                question.set(part, select.args[part])
        if self._keys:
            places = [_placed(place, key) for place, key in enumerate(self._keys, 1)]
            question.set("group", exp.Group(expressions=places))
        if not question.expressions:
            raise NotComposed
        question.meta.update(select.meta)
        return ReleasedCore(question, outer, self._more_keys)

    def _outer(self) -> exp.Select:
        select = self._select
        group = select.args.get("group")
        grouped = None if group is None else self._grouping(group)
        outer = exp.Select(expressions=[self._item(item) for item in select.expressions])
        for part in ("distinct", "limit", "offset", "with_"):
            if select.args.get(part) is not None:
                outer.set(part, select.args[part])
        if isinstance(outer.args.get("distinct"), exp.Distinct) and outer.args["distinct"].args.get("on") is not None:
            outer.args["distinct"].set("on", self._read(outer.args["distinct"].args["on"]))
        windows = [self._read(window) for window in select.args.get("windows") or []]
        if windows:
            outer.set("windows", windows)
        having = select.args.get("having")
        if having is not None:
            kept = self._read(having.this)
            outer.set(*(("having", exp.Having(this=kept)) if self._levels else ("where", exp.Where(this=kept))))
        if self._levels and grouped is not None:
            outer.set("group", grouped)
        if self._beside is not None:
            outer.set("joins", [exp.Join(this=item) for item in self._beside.items])
            written = len(self._keys)
            joined = conjunction(map(self._with_keys, self._beside.conditions))
            self._more_keys = len(self._keys) > written
            if joined is not None:
                outer.set("where", exp.Where(this=self._read(joined)))
        order = select.args.get("order")
        if order is not None:
            outer.set("order", exp.Order(expressions=[self._sorted(item) for item in order.expressions]))
        return outer

    def _grouping(self, group: exp.Group) -> exp.Group:
        """Write GROUP BY with each key as a column of the answer."""
        if any(value not in (None, False, []) for part, value in group.args.items() if part != "expressions"):
            raise NotComposed  # for example GROUP BY ALL, which the outer SELECT would lose

        def read(node: exp.Expr) -> exp.Expr:
            if isinstance(node, (*LEVELS, exp.Tuple)):
                return type(node)(expressions=[read(inner) for inner in node.expressions])
            return self._key(node.unnest())

        return exp.Group(expressions=[read(item) for item in group.expressions])

    def _key(self, written: exp.Expr) -> exp.Expr:
        """Enter the key of a GROUP BY item, and return its column."""
        key = meant_key(written, self._select.expressions, self._names_column)
        if self._is_of_answers(key):
            return key
        self._check_no_answers(key)
        if holds(key, exp.Window) or any(True for _ in aggregates(key)):
            raise NotComposed
        for place, known in enumerate(self._keys, 1):
            if alike(known, key):
                return bound_column(_ANSWER, f"k{place}")
        self._keys.append(key)
        return bound_column(_ANSWER, f"k{len(self._keys)}")

    def _item(self, item: exp.Expr) -> exp.Expr:
        """Read an item of the select list, keeping its name."""
        name = output_name(item)  # reading changes the item
        return named_sql(self._read(item.unalias()), name)

    def _sorted(self, item: exp.Expr) -> exp.Expr:
        """Read an item of ORDER BY; a position or an output's name stays."""
        inner = item.this
        outputs = {output_name(one) for one in self._select.expressions}
        plain = isinstance(inner, exp.Column) and inner.args.get("table") is None and fold(inner.this) in outputs
        if plain:
            name: exp.Expr = exp.Column(this=exp.to_identifier(fold(inner.this), quoted=True))
        else:
            name = inner if isinstance(inner, exp.Literal) else self._read(inner)
        return exp.Ordered(this=name, **{part: value for part, value in item.args.items() if part != "this"})

    def _read(self, tree: exp.Expr) -> exp.Expr:
        """Replace keys and aggregates in an expression by columns of the answer."""
        if isinstance(tree, exp.Column) and self._is_of_answers(tree):
            return tree
        for place, key in enumerate(self._keys, 1):
            if alike(key, tree):
                return bound_column(_ANSWER, f"k{place}")
        if isinstance(tree, exp.Query):
            return tree  # decompose reads it
        if any(found is tree for found in aggregates(tree)):
            return self._levelled(tree) if self._levels else self._aggregate(tree)
        if isinstance(tree, exp.Column):
            if self._levels or not self._keys:
                raise NotComposed
            return self._aggregate(tree)  # the keys may determine it, as binding the question shows
        if isinstance(tree, exp.Window):
            return self._window(tree)
        self._read_parts(tree)
        return tree

    def _read_parts(self, tree: exp.Expr, but: Collection[str] = ()) -> None:
        """Read every part of a node except those of these names, in place."""
        for name, value in list(tree.args.items()):
            if name in but:
                continue
            if isinstance(value, exp.Expr):
                tree.set(name, self._read(value))
            elif isinstance(value, list):
                tree.set(name, [self._read(one) if isinstance(one, exp.Expr) else one for one in value])

    def _window(self, window: exp.Window) -> exp.Expr:
        """Read the arguments of a window function, which itself stays."""
        called: exp.Expr = window.this
        while isinstance(called, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
            if isinstance(called, exp.Filter):
                called.set("expression", self._read(called.expression))
            called = called.this
        if not isinstance(called, exp.Identifier):
            self._read_parts(called)
        self._read_parts(window, but=("this", "alias"))
        return window

    def _is_of_answers(self, tree: exp.Expr) -> bool:
        """Whether an expression reads columns of answers only."""
        found = [] if self._beside is None else [self._beside.of_answers(column) for column in columns_of(tree)]
        return bool(found) and all(found)

    def _check_no_answers(self, tree: exp.Expr) -> None:
        """Raise NotComposed if an expression may read a column of an answer, which the question lacks."""
        beside = self._beside
        if beside is not None and any(beside.of_answers(column) is not False for column in columns_of(tree)):
            raise NotComposed

    def _with_keys(self, condition: exp.Expr) -> exp.Expr:
        """Make the columns of private rows in a condition keys; subqueries have none."""
        waiting = [condition]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Column) and not self._is_of_answers(node):
                self._key(node)
            elif not isinstance(node, exp.Query):
                waiting += children(node)
        return condition

    def _aggregate(self, call: exp.Expr) -> exp.Expr:
        self._check_no_answers(call)
        if any(holds(part, exp.Window) for part in children(call) if not isinstance(part, exp.Query)):
            raise NotComposed
        text = call.sql("postgres")
        if text not in self._aggregates:
            self._aggregates[text] = f"a{len(self._aggregates) + 1}", copied(call)
        return bound_column(_ANSWER, self._aggregates[text][0])

    def _levelled(self, call: exp.Expr) -> exp.Expr:
        """Compute an aggregate at every level from its values at the finest one."""
        inner, condition = filtered(call)
        if isinstance(inner, exp.Grouping):
            return exp.Grouping(expressions=[self._read(key) for key in inner.expressions])
        if holds(inner, exp.Distinct):
            raise NotComposed

        def finest(one: exp.Expr) -> exp.Expr:
            call = one if condition is None else exp.Filter(this=one, expression=copied(condition))
            return exp.Sum(this=self._aggregate(call))

        found = spread(inner, finest)
        if found is not None:
            return found
        if isinstance(inner, exp.Count):
            return exp.Coalesce(this=finest(inner), expressions=[exp.Literal.number(0)])
        if isinstance(inner, exp.Sum):
            return finest(inner)
        if isinstance(inner, exp.Avg):
            counted = finest(exp.Count(this=copied(inner.this), big_int=True))
            nobody = exp.Greatest(this=counted, expressions=[exp.Literal.number(0)])  # noise may say less than nobody
            none = exp.Nullif(this=nobody, expression=exp.Literal.number(0))
            return exp.Paren(this=exp.Div(this=finest(exp.Sum(this=inner.this)), expression=none, typed=True))
        raise NotComposed


def meant_key(written: exp.Expr, items: Sequence[exp.Expr], names_column: Callable[[str], bool]) -> exp.Expr:
    """Return the expression of a GROUP BY item: itself, or the item of the select list that it names."""
    if isinstance(written, exp.Literal) and not written.is_string:
        if not (written.name.isdigit() and 1 <= int(written.name) <= len(items)):
            raise NotComposed
        placed: exp.Expr = items[int(written.name) - 1].unalias().unnest()
        return placed
    if isinstance(written, exp.Column) and written.args.get("table") is None:
        name = fold(written.this)
        named = [item for item in items if isinstance(item, exp.Alias) and fold(item.args["alias"]) == name]
        if named and not names_column(name):
            meant: exp.Expr = named[0].this.unnest()
            return meant
    return written


def filtered(call: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    """Return an aggregate without its FILTER, and the FILTER."""
    return (call.this, call.expression) if isinstance(call, exp.Filter) else (call, None)


def _placed(place: int, key: exp.Expr) -> exp.Expr:
    """Return the position of a key in the select list, located where the key was written."""
    literal = exp.Literal.number(place)
    written = position_of(key)
    if written is not None:
        literal.meta["start"] = written - 1
    return literal


def alike(left: exp.Expr, right: exp.Expr) -> bool:
    """Are two expressions over one FROM the same, with or without table names?"""
    left, right = left.unnest(), right.unnest()
    if type(left) is not type(right):
        return False
    if isinstance(left, exp.Column):
        assert isinstance(right, exp.Column), "they have one type"
        if not (isinstance(left.this, exp.Identifier) and isinstance(right.this, exp.Identifier)):
            return False
        tables = [fold(one.args["table"]) for one in (left, right) if one.args.get("table") is not None]
        return fold(left.this) == fold(right.this) and (len(tables) < 2 or tables[0] == tables[1])
    if isinstance(left, exp.Identifier):
        return fold(left) == fold(right)
    ours, theirs = _filled(left), _filled(right)
    return ours.keys() == theirs.keys() and all(_same_value(ours[name], theirs[name]) for name in ours)


def _filled(node: exp.Expr) -> dict[str, object]:
    return {name: value for name, value in node.args.items() if value not in (None, False, [])}


def _same_value(left: object, right: object) -> bool:
    if isinstance(left, exp.Expr) and isinstance(right, exp.Expr):
        return alike(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_value, left, right))
    return left == right
