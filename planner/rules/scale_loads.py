"""Rule: of tuples with one owner, scale every unit's vector of groups in the database; no unit leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from planner.rules.compact_provenance import SATURATION
from planner.rules.count_loads import LOAD, LOADS, one_row_each, place_sql
from planner.rules.guard_weight import UNITS
from planner.sql.result_types import KeyCell
from planner.sql.sql_nodes import cast_sql, named_sql
from planner.sql.trees import over_leaves, quoted

EACH, TOTALS, SQUARES, LENGTHS = "each", "totals", "squares", "lengths"
"""Names of the statement's own: loads above 0, what units have in all groups, the squares of shares, the lengths."""

KNOWN, VALUE = "known", "k0"
"""Of a relation of the values that a key may have, and its one column: `known0` is that of the first key."""

_SLACK = 40


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
    rows say what a clip asks of the units (`privacy.truncation.loads.length_histogram`). Loads of 0 and tuples of
    nobody add nothing. A unit of 2^32 full weights is left out, for what it has itself.

    All that is added up is whole numbers, so that the order of rows does not matter. A share is a quotient of two
    doubles, off by 2^-50 of itself at most: what the shares of a unit add up to is less than a half above 2^30, and
    so at most 2^30. A Euclidean length is |x|_1 sqrt(sum q^2) / 2^30, of the shares q of |x|_1, rounded up. It gets
    2^-40 of itself more, which is beyond what doubles round.

    It reads what `compact_provenance` makes of tuples with one owner, columns o0, k0.., w0.., under the name LOADS.
    Where lengths are sums, a unit's rows of one group need not be merged.

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
    each SELECT "o0", "k0", 0 AS "i", "w0" AS "load" FROM "loads" WHERE NOT "o0" IS NULL AND "w0" > 0
    totals SELECT "o0", "i", CAST(LEAST(SUM("load"), 4611686018427387904) AS BIGINT) AS "t" FROM "each" GROUP BY 1, 2
    lengths SELECT "o0", "i", "t" AS "l", CASE WHEN "t" <= 2 THEN 0 ELSE CASE WHEN "t" <= 4 THEN 1 ELSE 2 END END AS \
"b" FROM "totals" WHERE "t" < 4611686018427387904
     SELECT "k0", "i", "b", 0 AS "n", CAST(LEAST(SUM("load"), 4611686018427387904) AS BIGINT) AS "s", \
CAST(LEAST(SUM(CAST(FLOOR(CAST("load" AS DOUBLE PRECISION) / CAST("l" AS DOUBLE PRECISION) * 1073741824) AS BIGINT)\
), 4611686018427387904) AS BIGINT) AS "r" FROM "each" JOIN "lengths" USING ("o0", "i") GROUP BY 1, 2, 3 UNION ALL \
SELECT NULL AS "k0", "i" + 1 AS "i", "b", COUNT(*) AS "n", CAST(LEAST(SUM("l"), 4611686018427387904) AS BIGINT) AS \
"s", 0 AS "r" FROM "lengths" GROUP BY 2, 3
    """
    keys = [f"k{place}" for place in range(n_keys)]
    relations: dict[str, exp.Expr] = {EACH: _each(keys, n_weights, known)}
    relations[TOTALS] = _select(["o0", "i", named_sql(_total(_column(LOAD)), "t")], EACH, group=2)
    within = exp.LT(this=_column("t"), expression=_number(SATURATION))
    if euclidean:
        relations[SQUARES] = _squares(within)
        source: exp.Expr = exp.Subquery(this=_euclidean(), alias=over_leaves(exp.TableAlias, this=quoted("measured")))
        length, within_it = "l", None
    else:
        source, length, within_it = _table(TOTALS), "t", within
    placed = named_sql(place_sql(_column(length), thresholds), "b")
    relations[LENGTHS] = _select(["o0", "i", named_sql(_column(length), "l"), placed], source, within_it)
    relations[""] = exp.Union(this=_shares(keys), expression=_units(keys, n_weights), distinct=False)
    return relations


def _each(keys: Sequence[str], n_weights: int, known: Mapping[int, Sequence[KeyCell] | None]) -> exp.Select:
    """Every load above 0 of somebody in some group, by its sum."""
    owned: exp.Expr = exp.Not(this=exp.Is(this=_column("o0"), expression=exp.Null()))
    for place, values in known.items():
        owned = exp.And(this=owned, expression=_is_known(place, values))
    names = ["o0", *keys]
    if n_weights == 1:
        there = exp.GT(this=_column("w0"), expression=_number(0))
        columns: list[str | exp.Expr] = [*names, named_sql(_number(0), "i"), named_sql(_column("w0"), LOAD)]
        return _select(columns, LOADS, exp.And(this=owned, expression=there))
    rows = one_row_each(_table(LOADS), list(map(_column, names)), n_weights, owned)
    return _select([*names, "i", LOAD], rows, exp.GT(this=_column(LOAD), expression=_number(0)))


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


def _squares(within: exp.Expr) -> exp.Select:
    """The squares of every unit's shares of its total, rounded up: at most (2^30 + its groups)^2 together."""
    share = cast_sql(exp.Ceil(this=_share("t")), "BIGINT")
    square = cast_sql(exp.Sum(this=exp.Mul(this=share, expression=share.copy())), "BIGINT")
    joined = _joined(TOTALS)
    return _select(["o0", "i", "t", named_sql(square, "q")], EACH, within, group=3, joined=joined)


def _euclidean() -> exp.Select:
    """Every unit's Euclidean length, no less than it is."""
    root = exp.Sqrt(this=_double("q"))
    length = exp.Div(this=exp.Mul(this=_double("t"), expression=root), expression=_number(UNITS))
    inside = _select(["o0", "i", named_sql(length, "l")], SQUARES)
    more = exp.Add(this=_column("l"), expression=exp.Div(this=_column("l"), expression=_number(1 << _SLACK)))
    rounded = named_sql(cast_sql(exp.Ceil(this=more), "BIGINT"), "l")
    return _select(
        ["o0", "i", rounded], exp.Subquery(this=inside, alias=over_leaves(exp.TableAlias, this=quoted("rooted")))
    )


def _shares(keys: Sequence[str]) -> exp.Select:
    """What units of a length have in a group, and their shares of it."""
    share = cast_sql(exp.Floor(this=_share("l")), "BIGINT")
    columns = [named_sql(_number(0), "n"), named_sql(_total(_column(LOAD)), "s"), named_sql(_total(share), "r")]
    return _select([*keys, "i", "b", *columns], EACH, group=len(keys) + 2, joined=_joined(LENGTHS))


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


def _share(length: str) -> exp.Expr:
    """2^30 load / length, in doubles."""
    quotient = exp.Div(this=_double(LOAD), expression=_double(length))
    return exp.Mul(this=quotient, expression=_number(UNITS))


def _total(value: exp.Expr) -> exp.Expr:
    """A sum that saturates, as a bigint."""
    least = exp.Least(this=exp.Sum(this=value), expressions=[_number(SATURATION)], ignore_nulls=True)
    return cast_sql(least, "BIGINT")


def _joined(relation: str) -> exp.Join:
    """A join by unit and sum."""
    joined = exp.Join(this=_table(relation))
    joined.args["using"] = [quoted("o0"), quoted("i")]
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


def _double(name: str) -> exp.Expr:
    return cast_sql(_column(name), "DOUBLE PRECISION")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
