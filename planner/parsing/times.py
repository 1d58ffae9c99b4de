"""Rewrite times as people write them: sums of units, OVERLAPS, the seconds of age().

Each function changes a tree in place, and leaves unknown forms to the grammar. PostgreSQL adds months before days
before seconds.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from planner.sql.constant_intervals import OF_AGE, added_up, interval_parts
from planner.sql.literals import constant, constant_text, interval_of
from planner.sql.trees import Age, cast_sql, copied, nodes

_MOST_NODES = 40
"""The most nodes of an end of OVERLAPS, which is written up to eight times."""

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800, "MONTH": 2_592_000,
            "YEAR": 31_104_000}  # fmt: skip
"""By unit, as PostgreSQL compares intervals."""

_MOST_UNITS = dict.fromkeys(_SECONDS, 10**9)

_EPOCH_OF_AGE = OF_AGE | {"YEAR": 31_557_600}
"""In EXTRACT(EPOCH) a year has 365.25 days."""


def interval_sums(tree: exp.Expr) -> None:
    """Write `x + INTERVAL '1 month - 1 day'` as `x + INTERVAL '1 MONTH' - ...`, one unit after the other.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT x - INTERVAL '1 year 2 days'", dialect="postgres")
    >>> interval_sums(tree)
    >>> tree.sql("postgres")
    "SELECT x - INTERVAL '12 MONTH' - INTERVAL '2 DAY'"
    """
    for node in nodes(tree):
        if isinstance(node, exp.Interval) and node.text("unit").upper().removesuffix("S") not in {*_SECONDS, ""}:
            parts = interval_parts(node)  # '15 min'
            if len(parts) == 1:
                node.replace(parts[0])
        elif isinstance(node, (exp.Add, exp.Sub)):
            step = node.expression.unnest()
            parts = interval_parts(step)
            if len(parts) > 1 or (parts and isinstance(step, exp.Interval) and step.args.get("unit") is None):
                node.replace(reduce(lambda moved, part: type(node)(this=moved, expression=part), parts, node.this))


def ages(tree: exp.Expr) -> None:
    """Write extract(epoch FROM age(a, b)) as the sum of the age's parts."""
    for node in nodes(tree):
        if isinstance(node, exp.Extract) and node.this.name.upper() == "EPOCH":
            inner = node.expression.unnest()
            if isinstance(inner, Age):
                node.replace(exp.Paren(this=added_up(inner, _EPOCH_OF_AGE)))


def overlaps(tree: exp.Expr) -> None:
    """Write `(a, b) OVERLAPS (c, d)` as PostgreSQL defines it, for ends in either order, NULL included.

    A period starts at the lesser end. Let it end at the greater one, or at an unknown time if an end is NULL. Of two
    periods that do not start together, the later one must start before the other ends. It is known to do so if it
    starts before a known end, and known not to if it is itself known and does not.
    """
    for node in nodes(tree):
        if not isinstance(node, exp.Overlaps):
            continue
        one, other = _period(node.this), _period(node.expression)
        if one is not None and other is not None:
            node.replace(exp.Paren(this=_overlap(one, other)))


def _period(side: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    ends = side.unnest().expressions if isinstance(side.unnest(), exp.Tuple) else []
    if len(ends) != 2 or any(len(nodes(end)) > _MOST_NODES for end in ends):
        return None
    start, end = ends
    parts = interval_parts(end.unnest())
    if parts:
        end = reduce(lambda moved, part: exp.Add(this=moved, expression=part), parts, copied(start))
    return start, end


def _overlap(one: tuple[exp.Expr, exp.Expr], other: tuple[exp.Expr, exp.Expr]) -> exp.Expr:
    (a, b), (c, d) = _ordered(*one), _ordered(*other)

    def before(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.LT(this=copied(left), expression=copied(right))

    def later(start: exp.Expr, own_end: exp.Expr, end: exp.Expr) -> exp.Expr:
        return exp.Or(this=before(start, end), expression=before(own_end, start))

    def known(end: exp.Expr) -> exp.Expr:
        return exp.Is(this=copied(end), expression=exp.Null(), negate=True)

    together = exp.And(this=known(b), expression=known(d))
    branches = [
        exp.If(this=before(c, a), true=later(a, b, d)),
        exp.If(this=before(a, c), true=later(c, d, b)),
        exp.If(this=together, true=exp.EQ(this=copied(a), expression=copied(c))),
    ]
    return exp.Case(ifs=branches)


def _ordered(start: exp.Expr, end: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """The lesser end, and the greater one if both are known."""
    least = exp.Least(this=copied(start), expressions=[copied(end)], ignore_nulls=True)
    greatest = exp.Greatest(this=copied(start), expressions=[copied(end)], ignore_nulls=True)
    both = exp.And(
        this=exp.Is(this=copied(start), expression=exp.Null(), negate=True),
        expression=exp.Is(this=copied(end), expression=exp.Null(), negate=True),
    )
    return least, exp.Case(ifs=[exp.If(this=both, true=greatest)])


def bins(tree: exp.Expr) -> None:
    """Write the step of date_bin as seconds, if it has no months and is positive; and a plain text as its origin."""
    for node in nodes(tree):
        if not isinstance(node, exp.DateBin) or node.args.get("unit") is None:
            continue
        step = node.this.unnest()
        if isinstance(step, exp.Literal) and step.is_string:
            step = exp.Cast(this=step, to=exp.DataType.build("INTERVAL"))
        parts = interval_parts(step)
        total = sum(amount * _SECONDS[unit] for amount, unit in (interval_of(one, _MOST_UNITS) for one in parts))
        if total > 0 and all(one.text("unit") not in ("MONTH", "YEAR") for one in parts):
            node.set("this", exp.Interval(this=exp.Literal.string(str(total)), unit=exp.var("SECOND")))
        if isinstance(node.args["unit"], exp.Literal) and node.args["unit"].is_string:
            node.set("unit", cast_sql(node.args["unit"], "TIMESTAMP"))


def computed_intervals(tree: exp.Expr) -> None:
    """Write `(n || ' minutes')::interval` as `n * INTERVAL '1 MINUTE'`."""
    for node in nodes(tree):
        if not (isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.INTERVAL):
            continue
        text = node.this.unnest()
        pieces = list(text.expressions) if isinstance(text, exp.Concat) else []
        if isinstance(text, exp.DPipe):
            pieces = [text.left, text.right]
        unit = pieces[1] if len(pieces) == 2 else None
        word = None if unit is None else constant_text(unit)
        if word is not None and not isinstance(constant(pieces[0]), (exp.Literal, exp.Parameter)):
            parts = interval_parts(exp.Cast(this=exp.Literal.string(f"1 {word}"), to=node.to))
            number = pieces[0].unnest()
            while isinstance(number, exp.Cast) and number.to.this in (exp.DType.TEXT, exp.DType.VARCHAR):
                number = number.this.unnest()
            if len(parts) == 1:
                node.replace(exp.Paren(this=exp.Mul(this=exp.Paren(this=number), expression=parts[0])))


_NAMED = {
    "now": (exp.CurrentTimestamp, 0), "today": (exp.CurrentDate, 0), "yesterday": (exp.CurrentDate, -1),
    "tomorrow": (exp.CurrentDate, 1),
}  # fmt: skip


def named_moments(tree: exp.Expr) -> None:
    """Write `'today'::date`, `'yesterday'::date` and `'now'::timestamp` by the clock that the policy rounds."""
    for node in nodes(tree):
        if not (isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string):
            continue
        named = _NAMED.get(node.this.name.strip().lower())
        if named is not None and node.to.this in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ):
            clock, days = named
            moment: exp.Expr = clock()
            if days:
                kind = exp.Add if days > 0 else exp.Sub
                moment = exp.Paren(this=kind(this=moment, expression=_A_DAY.copy()))
            node.set("this", moment)


_A_DAY = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))


def finite(tree: exp.Expr) -> None:
    """Write isfinite(x) as a comparison with the supported years, of which `infinity` is none."""
    for node in nodes(tree):
        if isinstance(node, exp.Anonymous) and node.name.lower() == "isfinite" and len(node.expressions) == 1:
            ends = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
            low, high = (cast_sql(exp.Literal.string(end), "TIMESTAMP") for end in ends)
            node.replace(exp.Paren(this=exp.Between(this=node.expressions[0], low=low, high=high)))
