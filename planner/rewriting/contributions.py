"""Rule: count or scale contributions in the database, for tuples with one owner, so that no unit leaves it.

`count_contributions` counts the units by contribution; `scale_contributions` adds up the units' values by norm, in
every group.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from sqlglot import exp

from planner.rewriting.compact_tuples import SATURATION, total_sql
from planner.rewriting.guard_weight import UNITS, whole_weight
from planner.sql.result_types import KeyCell
from planner.sql.trees import cast_sql, named_sql, over_leaves, own_name, quoted

CONTRIBUTIONS, SUMS, CONTRIBUTION, VALUES, NEAR = "contributions", "sums", "contribution", "values", "near"
"""Names in the statement: all units' contributions, the numbers of the sums, one contribution, all units' values, and
the thresholds near each contribution.
"""


def count_contributions(
    n_keys: int, n_weights: int, thresholds: Sequence[int], *, looked_up: bool = False
) -> exp.Select:
    """One row per group, sum and interval between two thresholds that contains some unit's contribution.

    A contribution is what one unit adds to a sum in a group. For sums clipped at the thresholds, these rows are as
    good as the units' (docs/mathematics.md, section 3.7). Contributions of 0 and tuples without an owner are left
    out.

    It reads the relation CONTRIBUTIONS: tuples with one owner from `compact`, with columns o0, k0.., w0... Its own
    columns are whole numbers, which mean the same in every dialect. Thresholds rise, are above 0, and in units.
    Args:
      looked_up: join the thresholds near a contribution (`_near`), rather than compare it in nested CASE.
    Returns: columns k0.., i (which weight), b, n (number of units) and s (their total, in units, saturating). b is
      the index of the least threshold that is not below the contribution, or the number of thresholds.

    >>> print(count_contributions(1, 1, [2, 4]).sql("postgres"))
    SELECT "k0", 0 AS "i", CASE WHEN "w0" <= 2 THEN 0 ELSE CASE WHEN "w0" <= 4 THEN 1 ELSE 2 END END AS "b", \
COUNT(*) AS "n", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s" FROM "contributions" \
WHERE NOT "o0" IS NULL AND "w0" > 0 GROUP BY 1, 3
    """
    keys = [f"k{place}" for place in range(n_keys)]
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    which: str | exp.Expr = "i"
    if n_weights == 1:
        which, contribution = named_sql(_number(0), "i"), _column("w0")
        source: exp.Expr = _table(CONTRIBUTIONS)
    else:  # each unit's row once per weight
        one_of = named_sql(_which([f"w{place}" for place in range(n_weights)]), CONTRIBUTION)
        each = _select([*keys, "i", one_of], CONTRIBUTIONS, owned, joined=_by_sum(n_weights))
        contribution, source = (
            _column(CONTRIBUTION),
            exp.Subquery(this=each, alias=exp.TableAlias(this=own_name(f"{CONTRIBUTIONS}_each"))),
        )
    there: exp.Expr = exp.GT(this=contribution, expression=_number(0))
    index, near = _place(contribution, thresholds, looked_up)
    place, total = named_sql(index, "b"), named_sql(_total(contribution.copy()), "s")
    counted = named_sql(exp.Count(this=exp.Star(), big_int=True), "n")
    where = exp.And(this=owned, expression=there) if n_weights == 1 else there
    group = [one for one in range(n_keys + 2) if n_weights > 1 or one != n_keys]
    return _select([*keys, which, place, counted, total], source, where, group=group, joined=near)


def count_values(n_keys: int) -> exp.Select:
    """Count each unit's values per group, as one weight per owner and group.

    It reads the relation VALUES: tuples with one owner and a value from `compact`, each value once per owner. Values
    with weight 0, such as NULL, do not count. `count_contributions` reads the result, which is the same in every
    dialect.

    >>> count_values(0).sql("postgres")
    'SELECT "o0", CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0" FROM "values" WHERE "w0" > 0 \
GROUP BY 1'
    """
    keys = ["o0", *(f"k{place}" for place in range(n_keys))]
    counted = named_sql(total_sql(whole_weight()), "w0")
    counts = exp.GT(this=_column("w0"), expression=_number(0))
    return _select([*keys, counted], VALUES, counts, group=range(len(keys)))


def _which(weights: Sequence[str]) -> exp.Expr:
    """The weight of sum `i`."""
    *others, last = map(_column, weights)
    if not others:
        return last
    contribution = exp.Case()
    for place, column in enumerate(others):
        contribution = contribution.when(exp.EQ(this=_column("i"), expression=_number(place)), column, copy=False)
    return contribution.else_(last, copy=False)


def _by_sum(n_weights: int) -> exp.Join:
    """Cross join with the numbers of the sums, in column `i`."""
    numbers = exp.Values(
        expressions=[exp.Tuple(expressions=[_number(place)]) for place in range(n_weights)],
        alias=exp.TableAlias(this=own_name(SUMS), columns=[own_name("i")]),
    )
    return exp.Join(this=numbers, kind="CROSS")


def _place(contribution: exp.Column, thresholds: Sequence[int], looked_up: bool) -> tuple[exp.Expr, exp.Join | None]:
    """The index of the least threshold that is not below a contribution, and the join that it needs."""
    if looked_up and (near := _near(thresholds)) is not None:
        return _counted(contribution, near)
    return _bisected(contribution, thresholds), None


def _bisected(contribution: exp.Column, thresholds: Sequence[int], first: int = 0) -> exp.Expr:
    if not thresholds:
        return exp.Literal.number(first)
    middle = (len(thresholds) - 1) // 2
    below = over_leaves(exp.LTE, this=contribution, expression=exp.Literal.number(thresholds[middle]))
    lower = _bisected(contribution, thresholds[:middle], first)
    upper = _bisected(contribution, thresholds[middle + 1 :], first + middle + 1)
    return exp.Case(ifs=[exp.If(this=below, true=lower)], default=upper)  # `when` and `else_` copy all that is below


_STEPS = 4
_PER_E = _STEPS / math.log(2)
_FEW, _MOST_NEAR = 16, 8


def _near(thresholds: Sequence[int]) -> list[list[int]] | None:
    """The thresholds around each step f of a contribution, as columns f, the number below, and the next ones.

    A contribution x is at step f = floor(4 log2 x), computed in doubles with an error far below 1. So x is above
    2^((f - 1) / 4), and all thresholds below that number are below x. It is below 2^((f + 2) / 4), and no threshold
    from there on is below x. Only the few thresholds in between are compared with it.

    Returns: None for so few thresholds that CASE is as fast, and for thresholds that lie too close together.

    >>> _near([1 << bit for bit in range(20)])[1][:12]
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    """
    if len(thresholds) < _FEW:
        return None
    steps = range(-1, _STEPS * SATURATION.bit_length() + 1)
    below = [bisect_left(thresholds, math.floor(2.0 ** ((step - 1) / _STEPS))) for step in steps]
    upto = [bisect_left(thresholds, math.ceil(2.0 ** ((step + 2) / _STEPS))) for step in steps]
    most = max(last - first for first, last in zip(below, upto, strict=True))
    padded = [*thresholds, *[SATURATION] * most]
    return (
        None if most > _MOST_NEAR else [[*steps], below, *([padded[one + i] for one in below] for i in range(most))]
    )


def _counted(contribution: exp.Column, near: Sequence[Sequence[int]]) -> tuple[exp.Expr, exp.Join]:
    """Join the thresholds near a contribution by its step, each column as one text, and count those below it."""
    names = ["step", "below", *(f"t{place}" for place in range(len(near) - 2))]
    columns = [
        named_sql(exp.Anonymous(this="UNNEST", expressions=[cast_sql(_split(values), "BIGINT[]")]), name)
        for name, values in zip(names, near, strict=True)
    ]
    rows = exp.Subquery(this=exp.Select(expressions=columns), alias=exp.TableAlias(this=own_name(NEAR)))
    positive = exp.Greatest(this=contribution, expressions=[_number(1)], ignore_nulls=True)
    scaled = exp.Mul(this=exp.Ln(this=_double(positive)), expression=_double(exp.Literal.string(repr(_PER_E))))
    step = cast_sql(exp.Floor(this=scaled), "BIGINT")
    index: exp.Expr = _column("below")
    for name in names[2:]:
        more = cast_sql(over_leaves(exp.GT, this=contribution, expression=_column(name)), "INT")
        index = exp.Add(this=index, expression=more)
    return index, exp.Join(this=rows, on=exp.EQ(this=_column("step"), expression=step))


def _split(values: Sequence[int]) -> exp.Expr:
    text, comma = exp.Literal.string(",".join(map(str, values))), exp.Literal.string(",")
    return exp.Anonymous(this="STRING_SPLIT", expressions=[text, comma])


EACH, TOTALS, NORMS = "each", "totals", "norms"
"""Names in the statement: rows of groups, norms of units, and their intervals between thresholds."""

KNOWN, VALUE = "known", "k0"
"""Name of the relation of a key's values, such as `known0` for the first key, and of its one column."""

_SLACK, _LIMB = 40, 20


def scale_contributions(
    n_keys: int,
    n_weights: int,
    thresholds: Sequence[int],
    *,
    euclidean: bool,
    known: Mapping[int, Sequence[KeyCell] | None],
    looked_up: bool = False,
) -> dict[str, exp.Expr]:
    """One row per group, sum and interval of norms; and one per sum and interval that counts the units.

    A unit's norm is the L1 or L2 norm of its contributions to a sum over all groups, rounded up. Each unit is in one
    interval between two thresholds. At a threshold tau, a unit is kept whole if its norm is at most tau. Otherwise
    its share of tau in a group is floor(2^30 contribution / norm) of 2^30. So these rows determine the clipped sums
    (`privacy.truncation.histograms`). Contributions of 0 and tuples without an owner add nothing. A unit with 2^32
    full weights is left out, based on its own rows alone.

    All sums are of whole numbers, so the order of rows does not matter. A share is a quotient of two doubles with a
    relative error of at most 2^-50. So the shares of a unit add up to less than 2^30 + 1/2, and thus to at most 2^30.
    Squares are added exactly, in limbs of 20 bits, for 2^17 groups and more. Their root is raised by 2^-40 of itself,
    which exceeds the rounding of doubles, so it is not below the L2 norm. Where the L1 norm is smaller, it replaces
    the root. So a contribution to one group that equals tau is within tau.

    It reads what `count_contributions` reads; for L1 norms, a unit's rows of one group need not be merged.
    Args:
      thresholds: rising, > 0, in units.
      euclidean: L2 norm rather than L1?
      known: for each key with rows outside of all groups, the values that have a group; None: those of relation
        `known0`, `known1`, ... by key. Only rows with such keys count in a norm.
      looked_up: as in `count_contributions`.
    Returns: the statement's relations by name, and the statement under the empty name. In rows with a group, i is the
      weight, b as in `count_contributions` but by norm, n 0, s the units' total (saturating), r the sum of their
      shares. In rows without a group, i is raised by n_weights, n counts the units, s is the total of their norms, r
      0.

    >>> for name, tree in scale_contributions(1, 1, [2, 4], euclidean=False, known={}).items():
    ...     print(name, tree.sql("postgres"))
    each SELECT "o0", "k0", "w0" FROM "contributions" WHERE NOT "o0" IS NULL
    totals SELECT "o0", 0 AS "i", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "l" FROM "each" GROUP BY 1
    norms SELECT "o0", "i", "l", CASE WHEN "l" <= 2 THEN 0 ELSE CASE WHEN "l" <= 4 THEN 1 ELSE 2 END END AS "b" \
FROM "totals" WHERE "l" > 0 AND "l" < 4611686018427387904
     SELECT "k0", "i", "b", 0 AS "n", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s", \
CAST(LEAST(SUM(CAST(FLOOR(CAST("w0" AS DOUBLE PRECISION) / CAST("l" AS DOUBLE PRECISION) * 1073741824) AS BIGINT)), \
4611686018427387904) AS BIGINT) AS "r" FROM "each" JOIN "norms" USING ("o0") GROUP BY 1, 2, 3 UNION ALL \
SELECT NULL AS "k0", "i" + 1 AS "i", "b", COUNT(*) AS "n", CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS \
"s", 0 AS "r" FROM "norms" GROUP BY 2, 3
    """
    keys, weights = [f"k{place}" for place in range(n_keys)], [f"w{place}" for place in range(n_weights)]
    relations: dict[str, exp.Expr] = {EACH: rows_with_group(n_keys, n_weights, known)}
    relations[TOTALS] = _totals(weights, euclidean)
    some = exp.GT(this=_column("l"), expression=_number(0))
    within = exp.And(this=some, expression=exp.LT(this=_column("l"), expression=_number(SATURATION)))
    index, near = _place(_column("l"), thresholds, looked_up)
    relations[NORMS] = _select(["o0", "i", "l", named_sql(index, "b")], TOTALS, within, joined=near)
    relations[""] = exp.Union(this=_shares(keys, weights), expression=_units(keys, n_weights), distinct=False)
    return relations


def rows_with_group(n_keys: int, n_weights: int, known: Mapping[int, Sequence[KeyCell] | None]) -> exp.Select:
    """The relation EACH of `scale_contributions`, the only one that depends on `known`."""
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    for place, values in known.items():
        owned = exp.And(this=owned, expression=_is_known(place, values))
    keys, weights = [f"k{place}" for place in range(n_keys)], [f"w{place}" for place in range(n_weights)]
    return _select(["o0", *keys, *weights], CONTRIBUTIONS, owned)


def _is_known(place: int, values: Sequence[KeyCell] | None) -> exp.Expr:
    """Does the row's key have a group?"""
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
    """The norm of each unit, per sum."""
    length = _euclidean if euclidean else _total
    if len(weights) == 1:
        return _select(["o0", named_sql(_number(0), "i"), named_sql(length(_column("w0")), "l")], EACH, group=[0])
    of_all = [named_sql(length(_column(weight)), weight) for weight in weights]
    every = exp.Subquery(
        this=_select(["o0", *of_all], EACH, group=[0]), alias=over_leaves(exp.TableAlias, this=quoted("every"))
    )
    return _select(["o0", "i", named_sql(_which(weights), "l")], every, joined=_by_sum(len(weights)))


def _euclidean(contribution: exp.Expr) -> exp.Expr:
    """Not below the L2 norm and not above the L1 norm; exact for one group."""
    return exp.Least(this=_root(contribution), expressions=[_total(contribution)], ignore_nulls=True)


def _root(contribution: exp.Expr) -> exp.Expr:
    """The root of the sum of squares of contributions up to 2^62, rounded up, as a bigint."""

    def limb(place: int) -> exp.Expr:
        shifted = (
            exp.BitwiseRightShift(this=contribution.copy(), expression=_number(_LIMB * place))
            if place
            else contribution.copy()
        )
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
    """The total of units with a norm in a group, and the sum of their shares."""
    quotient = exp.Div(this=_double(_which(weights)), expression=_double(_column("l")))
    share = cast_sql(exp.Floor(this=exp.Mul(this=quotient, expression=_number(UNITS))), "BIGINT")
    totals = [named_sql(_total(_which(weights)), "s"), named_sql(_total(share), "r")]
    columns: list[str | exp.Expr] = [*keys, "i", "b", named_sql(_number(0), "n"), *totals]
    joined = exp.Join(this=_table(NORMS))
    joined.args["using"] = [quoted("o0")]
    return _select(columns, EACH, group=range(len(keys) + 2), joined=joined)


def _units(keys: Sequence[str], n_weights: int) -> exp.Select:
    """The number of units with a norm."""
    no_group: list[str | exp.Expr] = [named_sql(exp.Null(), key) for key in keys]
    which = named_sql(exp.Add(this=_column("i"), expression=_number(n_weights)), "i")
    counted = named_sql(exp.Count(this=exp.Star(), big_int=True), "n")
    total = named_sql(_total(_column("l")), "s")
    columns = [*no_group, which, "b", counted, total, named_sql(_number(0), "r")]
    return _select(columns, NORMS, group=(len(keys), len(keys) + 1))


def _total(value: exp.Expr) -> exp.Expr:
    """A saturating sum, as a bigint."""
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
    """A SELECT of columns, by name or as trees, grouped by the columns at these places."""
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
