"""Rule: count and scale in the database what units have, of tuples with one owner; no unit leaves it.

`count_loads` says how many units have how much, `scale_loads` what units of each length have in every group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from planner.rewriting.compact_tuples import SATURATION, total_sql
from planner.rewriting.guard_weight import UNITS, whole_weight
from planner.sql.result_types import KeyCell
from planner.sql.trees import cast_sql, named_sql, over_leaves, quoted

LOADS, SUMS, LOAD, VALUES = "loads", "sums", "load", "values"
"""Names of the statement's own: what every unit has, the numbers of the sums, the load of one of them, and the values
of every unit.
"""


def count_loads(n_keys: int, n_weights: int, thresholds: Sequence[int]) -> exp.Select:
    """One row per group keys, sum and interval between two thresholds that some unit's load lies in.

    A load is what one unit adds to a sum in a group. Of truncated sums at the thresholds, these rows say as much as
    the units do (docs/mathematics.md, section 3.7). Loads of 0 and tuples of nobody add nothing, and are left out.

    It reads what `compact` makes of tuples with one owner, columns o0, k0.., w0.., under the name LOADS; its own
    columns are whole numbers, and mean the same in every dialect. Thresholds rise, are above 0, and in units.
    Returns: columns k0.., i (which weight), b (the place of the least threshold that is no less than the load, their
      number where there is none), n (how many units) and s (their total, in units, saturating).

    >>> print(count_loads(1, 1, [2, 4]).sql("postgres"))
    SELECT "k0", 0 AS "i", CASE WHEN "w0" <= 2 THEN 0 ELSE CASE WHEN "w0" <= 4 THEN 1 ELSE 2 END END AS "b", \
    T(*) AS "n", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s" FROM "loads" \
    E NOT "o0" IS NULL AND "w0" > 0 GROUP BY 1, 3
    """
    keys = [f"k{place}" for place in range(n_keys)]
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    which: str | exp.Expr = "i"
    if n_weights == 1:
        which, load = named_sql(_number(0), "i"), _column("w0")
        source: exp.Expr = _table(LOADS)
    else:  # every unit's row once for each of its weights
        one_of = named_sql(_which([f"w{place}" for place in range(n_weights)]), LOAD)
        each = _select([*keys, "i", one_of], LOADS, owned, joined=_by_sum(n_weights))
        load, source = _column(LOAD), exp.Subquery(this=each, alias=exp.TableAlias(this=quoted(f"{LOADS}_each")))
    there: exp.Expr = exp.GT(this=load, expression=_number(0))
    place, total = named_sql(_place(load, thresholds), "b"), named_sql(_total(load.copy()), "s")
    counted = named_sql(exp.Count(this=exp.Star(), big_int=True), "n")
    where = exp.And(this=owned, expression=there) if n_weights == 1 else there
    group = [one for one in range(n_keys + 2) if n_weights > 1 or one != n_keys]
    return _select([*keys, which, place, counted, total], source, where, group=group)


def count_values(n_keys: int) -> exp.Select:
    """How many values each unit has in a group, as the weight of one row per owner and group keys.

    It reads under the name VALUES what `compact` makes of tuples with one owner and a value: each value once per
    owner, which is once where x determines its owner. Values that do not count, NULL among them, have the weight 0.
    Its rows are those that `count_loads` reads, and mean the same in every dialect.

    >>> count_values(0).sql("postgres")
    'SELECT "o0", CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0" FROM "values" WHERE "w0" > 0 \
    P BY 1'
    """
    keys = ["o0", *(f"k{place}" for place in range(n_keys))]
    counted = named_sql(total_sql(whole_weight()), "w0")
    counts = exp.GT(this=_column("w0"), expression=_number(0))
    return _select([*keys, counted], VALUES, counts, group=range(len(keys)))


def _which(weights: Sequence[str]) -> exp.Expr:
    """The weight of the sum `i`."""
    *others, last = map(_column, weights)
    if not others:
        return last
    load = exp.Case()
    for place, column in enumerate(others):
        load = load.when(exp.EQ(this=_column("i"), expression=_number(place)), column, copy=False)
    return load.else_(last, copy=False)


def _by_sum(n_weights: int) -> exp.Join:
    """The numbers of the sums, as a relation with the column `i`, beside every row."""
    numbers = exp.Values(
        expressions=[exp.Tuple(expressions=[_number(place)]) for place in range(n_weights)],
        alias=exp.TableAlias(this=quoted(SUMS), columns=[quoted("i")]),
    )
    return exp.Join(this=numbers, kind="CROSS")


def _place(load: exp.Column, thresholds: Sequence[int], first: int = 0) -> exp.Expr:
    """The place of the least threshold that is no less than the load, by halving: six comparisons for 54."""
    if not thresholds:
        return exp.Literal.number(first)
    middle = (len(thresholds) - 1) // 2
    below = exp.LTE(this=load.copy(), expression=exp.Literal.number(thresholds[middle]))
    lower = _place(load, thresholds[:middle], first)
    upper = _place(load, thresholds[middle + 1 :], first + middle + 1)
    return exp.Case(ifs=[exp.If(this=below, true=lower)], default=upper)  # `when` and `else_` copy all that is below


EACH, TOTALS, LENGTHS = "each", "totals", "lengths"
"""Names of the statement's own: rows of groups, how long the vectors of units are, and between which thresholds."""

KNOWN, VALUE = "known", "k0"
"""Of a relation of the values that a key may have, and its one column: `known0` is that of the first key."""

_SLACK, _LIMB = 40, 20


def scale_loads(
    n_keys: int,
    n_weights: int,
    thresholds: Sequence[int],
    *,
    euclidean: bool,
    known: Mapping[int, Sequence[KeyCell] | None],
) -> dict[str, exp.Expr]:
    """One row per group keys, sum and interval of lengths, and one per sum and interval that says how many units.

    The length of a unit is what it adds to a sum in all groups together, or its Euclidean length, rounded up. Every
    unit lies in one interval between two thresholds, whatever its groups. At a threshold tau it is kept whole where
    its length is at most tau; else its share of tau in every group is floor(2^30 load / length) of 2^30. So these
    rows say what a clip asks of the units (`privacy.truncation.histograms`). Loads of 0 and tuples of
    nobody add nothing. A unit of 2^32 full weights is left out, for what it has itself.

    All that is added up is whole numbers, so that the order of rows does not matter. A share is a quotient of two
    doubles, off by 2^-50 of itself at most: what the shares of a unit add up to is less than a half above 2^30, and
    so at most 2^30. Squares of loads are added up in limbs of 20 bits, exactly, of 2^17 groups and more. Their root
    gets 2^-40 of itself more, which is beyond what doubles round: so it is no less than the Euclidean length. Nor is
    the sum of the loads, which stands for the root where it is less: so a load of one group at tau is within tau.

    It reads what `count_loads` does; where lengths are sums, a unit's rows of one group need not be merged.
    Args:
      thresholds: rising, > 0, in units.
      euclidean: is a vector's length the Euclidean one, rather than its sum?
      known: of the keys whose rows may lie outside of all groups, the values that have a group; None: those of the
        relation `known0` of the first key, and so on. Only rows with such keys add to a length.
    Returns: by their names, the relations that the statement goes through, and under the empty name the statement:
      columns k0.., i (which weight), b (as of `count_loads`, by length), n (0), s (what these units have in the
      group, in units, saturating) and r (what their shares add up to); and rows of no group with i + n_weights in
      place of i, where n is how many units have such a length, s the total of their lengths and r 0.

    >>> for name, tree in scale_loads(1, 1, [2, 4], euclidean=False, known={}).items():
    ...     print(name, tree.sql("postgres"))
    each SELECT "o0", "k0", "w0" FROM "loads" WHERE NOT "o0" IS NULL
    totals SELECT "o0", 0 AS "i", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "l" FROM "each" GROUP BY 1
    lengths SELECT "o0", "i", "l", CASE WHEN "l" <= 2 THEN 0 ELSE CASE WHEN "l" <= 4 THEN 1 ELSE 2 END END AS "b" \
     "totals" WHERE "l" > 0 AND "l" < 4611686018427387904
     SELECT "k0", "i", "b", 0 AS "n", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s", \
    (LEAST(SUM(CAST(FLOOR(CAST("w0" AS DOUBLE PRECISION) / CAST("l" AS DOUBLE PRECISION) * 1073741824) AS BIGINT)), \
    686018427387904) AS BIGINT) AS "r" FROM "each" JOIN "lengths" USING ("o0") GROUP BY 1, 2, 3 UNION ALL \
    CT NULL AS "k0", "i" + 1 AS "i", "b", COUNT(*) AS "n", CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS \
     0 AS "r" FROM "lengths" GROUP BY 2, 3
    """
    keys, weights = [f"k{place}" for place in range(n_keys)], [f"w{place}" for place in range(n_weights)]
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    for place, values in known.items():
        owned = exp.And(this=owned, expression=_is_known(place, values))
    relations: dict[str, exp.Expr] = {EACH: _select(["o0", *keys, *weights], LOADS, owned)}
    relations[TOTALS] = _totals(weights, euclidean)
    some = exp.GT(this=_column("l"), expression=_number(0))
    within = exp.And(this=some, expression=exp.LT(this=_column("l"), expression=_number(SATURATION)))
    placed = named_sql(_place(_column("l"), thresholds), "b")
    relations[LENGTHS] = _select(["o0", "i", "l", placed], TOTALS, within)
    relations[""] = exp.Union(this=_shares(keys, weights), expression=_units(keys, n_weights), distinct=False)
    return relations


def _is_known(place: int, values: Sequence[KeyCell] | None) -> exp.Expr:
    """Has the key of a row a group?"""
    key, null = _column(f"k{place}"), exp.Is(this=_column(f"k{place}"), expression=exp.Null())
    if values is None:
        relation = f"{KNOWN}{place}"
        missing = exp.Is(this=_column(VALUE), expression=exp.Null())
        of_null = exp.Exists(this=_select([VALUE], relation, missing))
        among = exp.In(this=key, query=exp.Subquery(this=_select([VALUE], relation)))
        return exp.Paren(this=exp.Or(this=among, expression=exp.And(this=null, expression=of_null)))
    among = exp.In(this=key, expressions=[exp.convert(value) for value in values if value is not None])
    return exp.Paren(this=exp.Or(this=among, expression=null)) if None in values else among


def _totals(weights: Sequence[str], euclidean: bool) -> exp.Select:
    """How long every unit's vector is, of each sum."""
    length = _euclidean if euclidean else _total
    if len(weights) == 1:
        return _select(["o0", named_sql(_number(0), "i"), named_sql(length(_column("w0")), "l")], EACH, group=[0])
    of_all = [named_sql(length(_column(weight)), weight) for weight in weights]
    every = exp.Subquery(
        this=_select(["o0", *of_all], EACH, group=[0]), alias=over_leaves(exp.TableAlias, this=quoted("every"))
    )
    return _select(["o0", "i", named_sql(_which(weights), "l")], every, joined=_by_sum(len(weights)))


def _euclidean(load: exp.Expr) -> exp.Expr:
    """No less than the Euclidean length, and no more than the sum of the loads: of one group it is exact."""
    return exp.Least(this=_root(load), expressions=[_total(load)], ignore_nulls=True)


def _root(load: exp.Expr) -> exp.Expr:
    """The root of the sum of the squares of loads of at most 2^62, rounded up, as a bigint."""

    def limb(place: int) -> exp.Expr:
        shifted = exp.BitwiseRightShift(this=load.copy(), expression=_number(_LIMB * place)) if place else load.copy()
        if place == 2:
            return exp.Paren(this=shifted)
        return exp.Paren(this=exp.BitwiseAnd(this=exp.Paren(this=shifted), expression=_number((1 << _LIMB) - 1)))

    def product(times: int, left: int, right: int) -> exp.Expr:
        both = exp.Mul(this=limb(left), expression=limb(right))
        return both if times == 1 else exp.Mul(this=_number(times), expression=both)

    products = (
        product(1, 2, 2),
        product(2, 2, 1),
        exp.Add(this=product(2, 2, 0), expression=product(1, 1, 1)),
        product(2, 1, 0),
        product(1, 0, 0),
    )
    first, *others = (_double(exp.Sum(this=one)) for one in products)
    squares = first
    for one in others:
        scaled = exp.Mul(this=exp.Paren(this=squares), expression=_number(1 << _LIMB))
        squares = exp.Add(this=scaled, expression=one)
    more = exp.Add(this=_number(1), expression=_double(exp.Literal.string(repr(2.0**-_SLACK))))
    longer = exp.Mul(this=exp.Sqrt(this=squares), expression=exp.Paren(this=more))
    least = exp.Least(this=exp.Ceil(this=longer), expressions=[_double(_number(SATURATION))], ignore_nulls=True)
    return cast_sql(least, "BIGINT")


def _shares(keys: Sequence[str], weights: Sequence[str]) -> exp.Select:
    """What units of a length have in a group, and their shares of it."""
    quotient = exp.Div(this=_double(_which(weights)), expression=_double(_column("l")))
    share = cast_sql(exp.Floor(this=exp.Mul(this=quotient, expression=_number(UNITS))), "BIGINT")
    totals = [named_sql(_total(_which(weights)), "s"), named_sql(_total(share), "r")]
    columns: list[str | exp.Expr] = [*keys, "i", "b", named_sql(_number(0), "n"), *totals]
    joined = exp.Join(this=_table(LENGTHS))
    joined.args["using"] = [quoted("o0")]
    return _select(columns, EACH, group=range(len(keys) + 2), joined=joined)


def _units(keys: Sequence[str], n_weights: int) -> exp.Select:
    """How many units have a length."""
    no_group: list[str | exp.Expr] = [named_sql(exp.Null(), key) for key in keys]
    which = named_sql(exp.Add(this=_column("i"), expression=_number(n_weights)), "i")
    counted = named_sql(exp.Count(this=exp.Star(), big_int=True), "n")
    total = named_sql(_total(_column("l")), "s")
    columns = [*no_group, which, "b", counted, total, named_sql(_number(0), "r")]
    return _select(columns, LENGTHS, group=(len(keys), len(keys) + 1))


def _total(value: exp.Expr) -> exp.Expr:
    """A sum that saturates, as a bigint."""
    least = exp.Least(this=exp.Sum(this=value), expressions=[_number(SATURATION)], ignore_nulls=True)
    return cast_sql(least, "BIGINT")


def _select(
    columns: Sequence[str | exp.Expr],
    source: str | exp.Expr,
    where: exp.Expr | None = None,
    *,
    group: Sequence[int] = (),
    joined: exp.Join | None = None,
) -> exp.Select:
    """A SELECT of columns by name or as trees, grouped by those at some places."""
    return exp.Select(
        expressions=[_column(one) if isinstance(one, str) else one for one in columns],
        from_=exp.From(this=_table(source) if isinstance(source, str) else source),
        joins=[] if joined is None else [joined],
        where=None if where is None else exp.Where(this=where),
        group=exp.Group(expressions=[_number(place + 1) for place in group]) if group else None,
    )


def _table(name: str) -> exp.Table:
    return over_leaves(exp.Table, this=quoted(name))


def _column(name: str) -> exp.Column:
    return over_leaves(exp.Column, this=quoted(name))


def _double(value: exp.Expr) -> exp.Expr:
    return cast_sql(value, "DOUBLE PRECISION")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
