"""Rule: count and scale in the database what units have, of tuples with one owner; no unit leaves it.

Rule: of tuples with one owner, count in the database how many units have how much; no unit leaves it.

Rule: of tuples with one owner, scale every unit's vector of groups in the database; no unit leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from planner.rewriting.compact_tuples import SATURATION
from planner.rewriting.guard_weight import UNITS
from planner.sql.result_types import KeyCell
from planner.sql.trees import cast_sql, named_sql, over_leaves, quoted

LOADS, SUMS, LOAD = "loads", "sums", "load"
"""Names of the statement's own: what every unit has, the numbers of the sums, and the load of one of them."""


def count_loads(n_keys: int, n_weights: int, thresholds: Sequence[int]) -> exp.Select:
    """One row per group keys, sum and interval between two thresholds that some unit's load lies in.

    A load is what one unit adds to a sum in a group. sum_u min(tau, load_u) is, for every tau that is a threshold,
    the total of the loads up to tau and tau times the number of those above it: so these rows say as much as the
    units do (privacy-reach.md section 7). Loads of 0 and tuples of nobody add nothing, and are left out.

    It reads what `compact_provenance` makes of tuples with one owner, columns o0, k0.., w0.., under the name LOADS;
    its own columns are whole numbers, and mean the same in every dialect.

    Args:
      n_keys, n_weights: how many of the columns are keys and weights.
      thresholds: rising, > 0, in units.
    Returns: columns k0.., i (which weight), b (the place of the least threshold that is no less than the load, their
      number where there is none), n (how many units) and s (their total, in units, saturating).

    >>> print(count_loads(1, 1, [2, 4, 8]).sql("postgres", pretty=True))
    SELECT
      "k0",
      0 AS "i",
      CASE
        WHEN "w0" <= 4
        THEN CASE WHEN "w0" <= 2 THEN 0 ELSE 1 END
        ELSE CASE WHEN "w0" <= 8 THEN 2 ELSE 3 END
      END AS "b",
      COUNT(*) AS "n",
      CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s"
    FROM "loads"
    WHERE
      NOT "o0" IS NULL AND "w0" > 0
    GROUP BY
      1,
      3
    """
    keys = [exp.Column(this=quoted(f"k{place}")) for place in range(n_keys)]
    rows: exp.Expr = exp.Table(this=quoted(LOADS))
    owned: exp.Expr | None = exp.Not(this=exp.Is(this=exp.Column(this=quoted("o0")), expression=exp.Null()))
    if n_weights == 1:
        which: exp.Expr = exp.Literal.number(0)
        load, source = exp.Column(this=quoted("w0")), rows
    else:
        which, load = exp.Column(this=quoted("i")), exp.Column(this=quoted(LOAD))
        source, owned = _one_row_each(rows, keys, n_weights, owned), None
    there = exp.GT(this=load.copy(), expression=exp.Literal.number(0))
    total = exp.Least(this=exp.Sum(this=load.copy()), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True)
    columns: list[exp.Expr] = [key.copy() for key in keys]
    columns.append(named_sql(which, "i") if n_weights == 1 else which)
    columns.append(named_sql(place_sql(load, thresholds), "b"))
    grouped = [place for place in range(len(columns)) if n_weights > 1 or place != n_keys]
    columns.append(named_sql(exp.Count(this=exp.Star(), big_int=True), "n"))
    columns.append(named_sql(cast_sql(total, "BIGINT"), "s"))
    return exp.Select(
        expressions=columns,
        from_=exp.From(this=source),
        where=exp.Where(this=there if owned is None else exp.And(this=owned, expression=there)),
        group=exp.Group(expressions=[exp.Literal.number(place + 1) for place in grouped]),
    )


def _one_row_each(rows: exp.Expr, keys: Sequence[exp.Expr], n_weights: int, owned: exp.Expr | None) -> exp.Subquery:
    """Every unit's row once for each of its weights, as `load` of the sum `i`."""
    load = which_sql([f"w{place}" for place in range(n_weights)])
    each = exp.Select(
        expressions=[*(key.copy() for key in keys), exp.Column(this=quoted("i")), named_sql(load, LOAD)],
        from_=exp.From(this=rows),
        joins=[exp.Join(this=sums_sql(n_weights), kind="CROSS")],
        where=exp.Where(this=owned),
    )
    return exp.Subquery(this=each, alias=exp.TableAlias(this=quoted(LOAD + "s_each")))


def which_sql(weights: Sequence[str]) -> exp.Expr:
    """The weight of the sum `i`."""
    if len(weights) == 1:
        return over_leaves(exp.Column, this=quoted(weights[0]))
    load = exp.Case()
    for place, weight in enumerate(weights[:-1]):
        which = over_leaves(exp.Column, this=quoted("i"))
        is_it = exp.EQ(this=which, expression=exp.Literal.number(place))
        load = load.when(is_it, over_leaves(exp.Column, this=quoted(weight)), copy=False)
    return load.else_(over_leaves(exp.Column, this=quoted(weights[-1])), copy=False)


def sums_sql(n_weights: int) -> exp.Values:
    """The numbers of the sums, as a relation with the column `i`."""
    return exp.Values(
        expressions=[exp.Tuple(expressions=[exp.Literal.number(place)]) for place in range(n_weights)],
        alias=exp.TableAlias(this=quoted(SUMS), columns=[quoted("i")]),
    )


def place_sql(load: exp.Column, thresholds: Sequence[int], first: int = 0) -> exp.Expr:
    """The place of the least threshold that is no less than the load, by halving: six comparisons for 54."""
    if not thresholds:
        return exp.Literal.number(first)
    middle = (len(thresholds) - 1) // 2
    below = exp.LTE(this=load.copy(), expression=exp.Literal.number(thresholds[middle]))
    lower, upper = (
        place_sql(load, thresholds[:middle], first),
        place_sql(load, thresholds[middle + 1 :], first + middle + 1),
    )
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
    gets 2^-40 of itself more, which is beyond what doubles round: so it is no less than the Euclidean length.

    It reads what `compact_provenance` makes of tuples with one owner, columns o0, k0.., w0.., under the name LOADS;
    or what `keep_tuples` does, where lengths are sums: a unit's rows of one group need not be merged then.

    Args:
      n_keys, n_weights: how many of the columns are keys and weights.
      thresholds: rising, > 0, in units.
      euclidean: is a vector's length the Euclidean one, rather than its sum?
      known: of the keys whose rows may lie outside of all groups, the values that have a group; None: those of the
        relation `known0` of the first key, and so on. Only rows with such keys add to a length.
    Returns: by their names, the relations that the statement goes through, and under the empty name the statement:
      columns k0.., i (which weight), b (the place of the least threshold that is no less than the length, their
      number where there is none), n (0), s (what these units have in the group, in units, saturating) and r (what
      their shares add up to); and rows of no group with i + n_weights in place of i, where n is how many units have
      such a length, s the total of their lengths and r 0.

    >>> for name, tree in scale_loads(1, 1, [2, 4], euclidean=False, known={}).items():
    ...     print(name, tree.sql("postgres"))
    each SELECT "o0", "k0", "w0" FROM "loads" WHERE NOT "o0" IS NULL
    totals SELECT "o0", 0 AS "i", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "l" FROM "each" GROUP BY 1
    lengths SELECT "o0", "i", "l", CASE WHEN "l" <= 2 THEN 0 ELSE CASE WHEN "l" <= 4 THEN 1 ELSE 2 END END AS "b" \
FROM "totals" WHERE "l" > 0 AND "l" < 4611686018427387904
     SELECT "k0", "i", "b", 0 AS "n", CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s", \
CAST(LEAST(SUM(CAST(FLOOR(CAST("w0" AS DOUBLE PRECISION) / CAST("l" AS DOUBLE PRECISION) * 1073741824) AS BIGINT)), \
4611686018427387904) AS BIGINT) AS "r" FROM "each" JOIN "lengths" USING ("o0") GROUP BY 1, 2, 3 UNION ALL \
SELECT NULL AS "k0", "i" + 1 AS "i", "b", COUNT(*) AS "n", CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS \
"s", 0 AS "r" FROM "lengths" GROUP BY 2, 3
    """
    keys, weights = [f"k{place}" for place in range(n_keys)], [f"w{place}" for place in range(n_weights)]
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    for place, values in known.items():
        owned = exp.And(this=owned, expression=_is_known(place, values))
    relations: dict[str, exp.Expr] = {EACH: _select(["o0", *keys, *weights], LOADS, owned)}
    relations[TOTALS] = _totals(weights, euclidean)
    some = exp.GT(this=_column("l"), expression=_number(0))
    within = exp.And(this=some, expression=exp.LT(this=_column("l"), expression=_number(SATURATION)))
    placed = named_sql(place_sql(_column("l"), thresholds), "b")
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
    length = _root if euclidean else _total
    if len(weights) == 1:
        return _select(["o0", named_sql(_number(0), "i"), named_sql(length(_column("w0")), "l")], EACH, group=1)
    of_all = [named_sql(length(_column(weight)), weight) for weight in weights]
    every = exp.Subquery(
        this=_select(["o0", *of_all], EACH, group=1), alias=over_leaves(exp.TableAlias, this=quoted("every"))
    )
    crossed = exp.Join(this=sums_sql(len(weights)), kind="CROSS")
    return _select(["o0", "i", named_sql(which_sql(weights), "l")], every, joined=crossed)


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
    share = cast_sql(exp.Floor(this=_share(weights, "l")), "BIGINT")
    totals = [named_sql(_total(which_sql(weights)), "s"), named_sql(_total(share), "r")]
    columns: list[str | exp.Expr] = [*keys, "i", "b", named_sql(_number(0), "n"), *totals]
    return _select(columns, EACH, group=len(keys) + 2, joined=_joined(LENGTHS))


def _units(keys: Sequence[str], n_weights: int) -> exp.Select:
    """How many units have a length."""
    no_group: list[str | exp.Expr] = [named_sql(exp.Null(), key) for key in keys]
    which = named_sql(exp.Add(this=_column("i"), expression=_number(n_weights)), "i")
    counted = named_sql(exp.Count(this=exp.Star(), big_int=True), "n")
    total = named_sql(_total(_column("l")), "s")
    found = _select([*no_group, which, "b", counted, total, named_sql(_number(0), "r")], LENGTHS)
    places = [_number(len(keys) + 1), _number(len(keys) + 2)]
    found.set("group", exp.Group(expressions=places))
    return found


def _share(weights: Sequence[str], length: str) -> exp.Expr:
    """2^30 load / length, in doubles."""
    quotient = exp.Div(this=_double(which_sql(weights)), expression=_double(_column(length)))
    return exp.Mul(this=quotient, expression=_number(UNITS))


def _total(value: exp.Expr) -> exp.Expr:
    """A sum that saturates, as a bigint."""
    least = exp.Least(this=exp.Sum(this=value), expressions=[_number(SATURATION)], ignore_nulls=True)
    return cast_sql(least, "BIGINT")


def _joined(relation: str) -> exp.Join:
    """A join by unit, with one row per sum."""
    joined = exp.Join(this=_table(relation))
    joined.args["using"] = [quoted("o0")]
    return joined


def _select(
    columns: Sequence[str | exp.Expr],
    source: str | exp.Expr,
    where: exp.Expr | None = None,
    *,
    group: int = 0,
    joined: exp.Join | None = None,
) -> exp.Select:
    """A SELECT of columns by name or as trees, grouped by the first of them."""
    return exp.Select(
        expressions=[_column(one) if isinstance(one, str) else one for one in columns],
        from_=exp.From(this=_table(source) if isinstance(source, str) else source),
        joins=[] if joined is None else [joined],
        where=None if where is None else exp.Where(this=where),
        group=exp.Group(expressions=[_number(place + 1) for place in range(group)]) if group else None,
    )


def _table(name: str) -> exp.Table:
    return over_leaves(exp.Table, this=quoted(name))


def _column(name: str) -> exp.Column:
    return over_leaves(exp.Column, this=quoted(name))


def _double(value: exp.Expr) -> exp.Expr:
    return cast_sql(value, "DOUBLE PRECISION")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
