"""Rewrites a SELECT whose aggregates do not follow from those of finer groups, or only from one value of them.

ROLLUP, CUBE and GROUPING SETS with medians, extremes or COUNT(DISTINCT) become one question for each level. The
levels share epsilon, so each is as noisy as if it had been asked for with that share, and they need not agree.

    SELECT a, b, median(x) FROM t GROUP BY ROLLUP (a, b)
      --> SELECT a, b, median(x) FROM t GROUP BY a, b
          UNION ALL SELECT a, NULL, median(x) FROM t GROUP BY a
          UNION ALL SELECT NULL, NULL, median(x) FROM t

`mode()` becomes the value with the largest released count. Like any count of a public group, it may be noise alone.

    SELECT a, mode() WITHIN GROUP (ORDER BY x) FROM t GROUP BY a
      --> SELECT a, x FROM (SELECT a, x, row_number() OVER (PARTITION BY a ORDER BY count(*) DESC, x) AS r FROM t
          GROUP BY a, x) WHERE r = 1
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.errors import StatementTooComplex
from planner.postprocessing.composed import MAX_PARTS, NotComposed
from planner.postprocessing.released_core import ADDS_UP, CARRIED, LEVELS, alike, filtered, meant_key
from planner.sql.trees import aggregates, bound_column, children, copied, fold, holds, named_sql, rebuilt

_INNER = "finer"
_Keys = tuple[exp.Expr, ...]


def apart(select: exp.Select, names_column: Callable[[str], bool]) -> exp.Select | None:
    """Rewrite a SELECT over private rows; None if it needs no rewriting.

    Args:
      names_column: may a plain name mean a column of its FROM?
    Raises: NotComposed for windows, for several modes, and for a mode beside what does not add up.
    """
    group = select.args.get("group")
    calls = [filtered(call) for part in _computed(select) for call in aggregates(part)]
    levels = group is not None and holds(group, *LEVELS)
    if levels and not all(isinstance(call, exp.Grouping) or _adds_up(call) for call, _ in calls):
        return _Parts(select, names_column).levels()
    modes = [call for call in calls if _is_mode(call[0])]
    if not modes or levels:
        return None
    if any(call != modes[0] and not (_adds_up(call[0]) and isinstance(call[0], _SUMMED)) for call in calls):
        raise NotComposed
    return _Parts(select, names_column).modes(*modes[0])


def _computed(select: exp.Select) -> list[exp.Expr]:
    parts = [select.args.get(part) for part in ("having", "order")]
    return [*select.expressions, *(part for part in parts if part is not None)]


_SUMMED = (exp.Count, exp.Sum, exp.Avg)


def _adds_up(call: exp.Expr) -> bool:
    return isinstance(call, ADDS_UP) and not holds(call, exp.Distinct)


def _is_mode(call: exp.Expr) -> bool:
    return isinstance(call, exp.WithinGroup) and isinstance(call.this, exp.Mode)


class _Parts:
    """Of one SELECT: its columns c1, c2, ..., its condition of HAVING h, and what it sorts by, o1, o2, ...."""

    def __init__(self, select: exp.Select, names_column: Callable[[str], bool]) -> None:
        distinct = select.args.get("distinct")
        unknown = any(value for part, value in select.args.items() if part not in CARRIED or part == "with_")
        unknown = unknown or bool(select.args.get("windows")) or (distinct is not None and distinct.args.get("on"))
        if unknown or any(item.is_star or holds(item, exp.Window) for item in select.expressions):
            raise NotComposed
        self._select = select
        self._names_column = names_column
        self._names = [output_name(item) for item in select.expressions]
        self._inner = {f"c{place}": item.unalias() for place, item in enumerate(select.expressions, 1)}
        self._sorted: list[exp.Expr] = []
        order = select.args.get("order")
        for place, item in enumerate([] if order is None else order.expressions, 1):
            by = item.this
            plain = isinstance(by, exp.Column) and by.args.get("table") is None and fold(by.this) in self._names
            if plain or isinstance(by, exp.Literal):
                by = exp.column(fold(by.this), quoted=True) if plain else by
            else:
                self._inner[f"o{place}"] = by
                by = bound_column(_INNER, f"o{place}")
            self._sorted.append(exp.Ordered(this=by, **{k: v for k, v in item.args.items() if k != "this"}))

    def levels(self) -> exp.Select:
        """Return the levels side by side, the finest first, whose columns have the types of their keys."""
        group = self._select.args["group"]
        if any(value for part, value in group.args.items() if part != "expressions"):
            raise NotComposed
        sets = _product([self._sets(item) for item in group.expressions])
        keys = _different(key for one in sets for key in one)
        sets = sorted(sets, key=len, reverse=True)
        if len(sets) > MAX_PARTS:
            message = f"these levels are more than {MAX_PARTS} questions"
            raise StatementTooComplex(message, hint="ask for fewer, as in GROUPING SETS ((a), (b))", at=group)
        levels: list[exp.Query] = [self._level(one, keys) for one in sets]
        return self._over(reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=False), levels), None)

    def modes(self, call: exp.Expr, condition: exp.Expr | None) -> exp.Select:
        """Return the row of each group with the most frequent value."""
        group = self._select.args.get("group")
        keys = [] if group is None else [self._meant(item) for item in group.expressions]
        if len(call.expression.expressions) != 1:
            raise NotComposed
        (ordered,) = call.expression.expressions
        value = ordered.this
        rows: exp.Expr = exp.Count(this=exp.Star(), big_int=True)
        rows = rows if condition is None else exp.Filter(this=rows, expression=copied(condition))

        def once(tree: exp.Expr) -> exp.Expr:
            inner, where = filtered(tree)
            if _is_mode(inner):
                found: exp.Expr = copied(value)
                return found
            if not isinstance(inner, _SUMMED):
                return rebuilt(tree, once) if children(tree) and not isinstance(tree, exp.Query) else copied(tree)

            def whole(kind: exp.Expr) -> exp.Expr:
                finest = kind if where is None else exp.Filter(this=kind, expression=copied(where))
                return exp.Window(this=exp.Sum(this=finest), partition_by=list(map(copied, keys)))

            if not isinstance(inner, exp.Avg):
                return whole(copied(inner))
            count = exp.Nullif(
                this=whole(exp.Count(this=copied(inner.this), big_int=True)), expression=exp.Literal.number(0)
            )
            return exp.Paren(this=exp.Div(this=whole(exp.Sum(this=copied(inner.this))), expression=count, typed=True))

        unknown = exp.Ordered(this=exp.Paren(this=exp.Is(this=copied(value), expression=exp.Null())))
        first = [unknown, exp.Ordered(this=rows, desc=True), copied(ordered)]
        number = exp.Window(
            this=exp.RowNumber(), partition_by=list(map(copied, keys)), order=exp.Order(expressions=first)
        )
        inner = self._from([*keys, value], {**{name: once(one) for name, one in self._inner.items()}, "r": number})
        having = self._select.args.get("having")
        if having is not None:
            inner.append("expressions", named_sql(once(having.this), "h"))
        kept: exp.Expr = exp.EQ(this=bound_column(_INNER, "r"), expression=exp.Literal.number(1))
        return self._over(inner, kept if having is None else exp.and_(kept, bound_column(_INNER, "h"), copy=False))

    def _level(self, present: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> exp.Select:
        absent = [key for key in keys if not any(alike(key, one) for one in present)]

        def at_level(tree: exp.Expr) -> exp.Expr:
            if any(alike(tree, key) for key in present):
                return copied(tree)
            if any(alike(tree, key) for key in absent):
                return exp.Null()
            if isinstance(tree, exp.Grouping):
                bits = [any(alike(self._meant(key), one) for one in absent) for key in tree.expressions]
                return exp.Literal.number(reduce(lambda number, bit: 2 * number + bit, bits, 0))
            if isinstance(tree, (exp.Query, *_CALLS)) or not children(tree):
                return copied(tree)
            return rebuilt(tree, at_level)

        level = self._from(present, {name: at_level(one) for name, one in self._inner.items()})
        having = self._select.args.get("having")
        if having is not None:
            level.set("having", exp.Having(this=at_level(having.this)))
        return level

    def _from(self, keys: Sequence[exp.Expr], columns: dict[str, exp.Expr]) -> exp.Select:
        """A SELECT of the same rows in these groups."""
        made = exp.Select(expressions=[named_sql(one, name) for name, one in columns.items()])
        for part in ("from_", "joins", "where"):
            if self._select.args.get(part):
                held = self._select.args[part]
                made.set(part, [copied(one) for one in held] if isinstance(held, list) else copied(held))
        if keys:
            made.set("group", exp.Group(expressions=list(map(copied, keys))))
        made.meta.update(self._select.meta)
        return made

    def _over(self, inner: exp.Query, where: exp.Expr | None) -> exp.Select:
        shown = [named_sql(self._shown(f"c{place}"), name) for place, name in enumerate(self._names, 1)]
        outer = exp.Select(expressions=shown)
        outer.set(
            "from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(_INNER))))
        )
        if where is not None:
            outer.set("where", exp.Where(this=where))
        if self._sorted:
            outer.set("order", exp.Order(expressions=self._sorted))
        for part in ("distinct", "limit", "offset"):
            if self._select.args.get(part) is not None:
                outer.set(part, copied(self._select.args[part]))
        return outer

    def _shown(self, name: str) -> exp.Expr:
        """Return a column of the inner SELECT; a NULL itself, which has no type yet."""
        return exp.Null() if isinstance(self._inner[name], exp.Null) else bound_column(_INNER, name)

    def _meant(self, written: exp.Expr) -> exp.Expr:
        return meant_key(written.unnest(), self._select.expressions, self._names_column)

    def _sets(self, item: exp.Expr) -> list[_Keys]:
        """The sets of keys that an item of GROUP BY stands for."""
        parts = [self._tuple(part) for part in item.expressions] if isinstance(item, (exp.Rollup, exp.Cube)) else []
        if isinstance(item, exp.Rollup):
            return [sum(parts[:size], ()) for size in range(len(parts), -1, -1)]
        if isinstance(item, exp.Cube):
            if len(parts) > MAX_PARTS:
                raise NotComposed
            sizes = range(len(parts), -1, -1)
            return [sum(chosen, ()) for size in sizes for chosen in itertools.combinations(parts, size)]
        if isinstance(item, exp.GroupingSets):
            return [one for inner in item.expressions for one in self._sets(inner)]
        return [self._tuple(item)]

    def _tuple(self, item: exp.Expr) -> _Keys:
        return tuple(map(self._meant, item.expressions if isinstance(item, exp.Tuple) else [item]))


_CALLS = (exp.AggFunc, exp.WithinGroup, exp.Filter)
"""Nodes whose arguments are of the rows of a level, not of its keys."""


def _product(every: Sequence[list[_Keys]]) -> list[_Keys]:
    return [_different(sum(chosen, ())) for chosen in itertools.islice(itertools.product(*every), MAX_PARTS + 1)]


def _different(keys: Iterable[exp.Expr]) -> _Keys:
    found: list[exp.Expr] = []
    for key in keys:
        if not any(alike(key, one) for one in found):
            found.append(key)
    return tuple(found)
