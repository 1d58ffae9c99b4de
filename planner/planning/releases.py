"""Turn aggregates into releases: weights, their bounds, ranks, and how the outputs add them up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate, BoundQuery
from planner.plan import Around, Centre, Deviation, GroupDomain, Products, Ranked, Release
from planner.policy.policy import Policy
from planner.released_expression import Apply, ReleasedExpression, ReleasedValue
from planner.rewriting.guard_weight import guard_weight, row_offset, whole_weight, whole_weight_where
from planner.schema import Table
from planner.sql.trees import column_ref, columns_of
from privacy.mechanisms.rank import default_beyond

_GROUPS = 10
"""The assumed number of groups before it is known.

With more groups, some extremes are values at the empty end of the grid. Then the analyst names a k.
"""


def with_units_beyond(
    releases: Sequence[Release], domains: Sequence[GroupDomain], owners: int, groups_per_unit: int | None
) -> tuple[Release, ...]:
    """Give each extreme the number of units that lie beyond it, if the question does not.

    An uncounted domain is taken to have `_GROUPS` groups; `owners` are positions of a tuple.
    """
    times = 1
    if domains and groups_per_unit != 1:
        groups = math.prod(_GROUPS if domain.values is None else len(domain.values) for domain in domains)
        times = 2 if owners == 1 else max(1, groups if groups_per_unit is None else min(groups_per_unit, groups))
    return tuple(_with_units_beyond(release, times) for release in releases)


def _with_units_beyond(release: Release, times: int) -> Release:
    ranked = release.ranked
    if ranked is None or ranked.rank.quantile is not None or ranked.rank.beyond is not None:
        return release
    beyond = default_beyond(release.epsilon, ranked.grid.n_codes, times)
    return replace(release, ranked=replace(ranked, rank=replace(ranked.rank, beyond=beyond)))


def beyond_notes(releases: Sequence[Release], owners: int) -> Iterator[str]:
    """Say for each extreme how many people lie beyond it; for rows with several owners, how many own those rows."""
    for release in releases:
        if release.ranked is None or release.ranked.rank.quantile is not None:
            continue
        rank = release.ranked.rank
        above = "above" if rank.highest else "below"
        if owners == 1:
            have = "unit has a value" if rank.beyond == 1 else "units have values"
            beyond = f"about {rank.beyond:,} privacy {have} {above} it"
        else:
            noun = "unit" if rank.beyond == 1 else "units"
            units = f"about {rank.beyond:,} privacy {noun}, or up to {owners} times as many,"
            beyond = f"{units} own all rows {above} it"
        yield (
            f"{release.label} is not a person's value: it is drawn so that {beyond}. In a group with fewer privacy "
            "units it may be any value."
        )


@dataclass(frozen=True)
class Releases:
    """What is released, each number once, and how each aggregate follows.

    Attributes:
      values: per aggregate of the BoundQuery, over `releases`; then those of `centres`.
      share: the share of epsilon for each release beside them.
      jointly: is some quotient computed from them (`BoundAggregate.moment`)?
      centres: by the place of an average's sum, the place of its centre in `values`; None if all is measured around
        0.
    """

    releases: tuple[Release, ...]
    values: tuple[ReleasedExpression, ...]
    share: float
    jointly: bool = False
    centres: Mapping[int, int] | None = None


MOMENT_SHARES = (1.0, 2.0, 5.0)
"""The shares of a quotient's budget for its count, sums, and sums of squares.

The error of a quotient is the sum of its parts' relative errors. Shares in proportion to the power 2/3 of each part's
need are best (`allocate`). The needs are assumed, not tuned: a sum needs about three times as much as a count, and
squares ten times as much, since one unit's contribution is that much further from the mean.
"""

CENTRE_NEED, DEVIATION_NEED = 0.3, 2.7
"""Of the same, what the centre of an average gets, and what it leaves: a centre is rough, and the error of the count
beside them is a small part of a small number."""

ALONE_NEED = MOMENT_SHARES[0] + CENTRE_NEED + DEVIATION_NEED
"""Of the same, what a number gets that is asked for beside an average: as much as the average."""

_PLAIN = {"count": 0, "sum": 1, "distinct": 1, "rank": 1}
"""The moment of an aggregate that is requested by itself, beside a quotient."""

_Part = tuple[Release, int]
"""A release and its sign."""

Determined = Callable[[Sequence[tuple[str, str]]], bool]
Owned = Callable[[exp.Expr], bool]


def releases(
    query: BoundQuery,
    epsilon: float,
    distinct: Determined,
    tables: Mapping[str, Table],
    *,
    owned: Owned = lambda _: False,
    beside: int = 0,
    signed: bool = False,
    centred: bool = False,
) -> Releases:
    """The releases of all aggregates, equal numbers once; the budget is shared equally, or by MOMENT_SHARES.

    Args:
      distinct: does every owner of a tuple determine these columns, each to one value?
      owned: does each value of this SQL belong to one unit?
      beside: how many shares of the budget are kept for other releases.
      signed: is a sum over both signs one release, rather than one per sign?
      centred: are averages and sums of products measured around means, and all that no quotient reads by itself?
    """
    begun: list[Release] = []
    numbers: dict[object, int] = {}  # what makes a number one of its own, and its place
    needs: list[float] = []
    terms: list[list[tuple[int, int]]] = []
    jointly = any(aggregate.moment is not None for aggregate in query.aggregates)
    centres: dict[int, list[tuple[int, int]]] = {}

    def placed(parts: Sequence[_Part], need: float, apart: object = None) -> list[tuple[int, int]]:
        found = []
        for release, sign in parts:
            number = replace(release, label="", whole=False), apart
            if number not in numbers:
                numbers[number] = len(begun)
                begun.append(release)
                needs.append(need / len(parts) if jointly else 1.0)
            found.append((numbers[number], sign))
        return found

    for place, aggregate in enumerate(query.aggregates):
        parts = _parts(aggregate, tables, signed)
        if centred and aggregate.moment is None:
            parts = [(replace(release, alone=release.is_sum), sign) for release, sign in parts]
            terms.append(placed(parts, ALONE_NEED))
            continue
        if not centred or aggregate.over is None:
            product = place if centred and aggregate.around is not None else None
            terms.append(placed(parts, _need(aggregate), product))
            continue
        ((release, sign),) = parts
        centre = replace(release, label=f"{release.label}, centre")
        centres[place] = placed([(centre, sign)], CENTRE_NEED, ("centre", place))
        terms.append(placed(parts, DEVIATION_NEED, ("deviation", place)))
    shares = divided(epsilon, [*needs, *[1.0] * beside])
    released = [_finished(one, share, distinct, owned) for one, share in zip(begun, shares, strict=False)]
    values = tuple(map(_signed_sum, [*terms, *centres.values()]))
    if not centred:
        return Releases(tuple(released), values, shares[-1], jointly)
    _measure_around(query, released, terms, centres)
    places = {place: len(terms) + index for index, place in enumerate(centres)}
    return Releases(tuple(released), values, shares[-1], jointly, places)


def _measure_around(
    query: BoundQuery,
    released: list[Release],
    terms: Sequence[Sequence[tuple[int, int]]],
    centres: Mapping[int, Sequence[tuple[int, int]]],
) -> None:
    """Set, in place, what every sum of products and every part of an average is measured around."""

    def only(place: int) -> int:
        ((index, _),) = terms[place]
        return index

    for place, aggregate in enumerate(query.aggregates):
        around: Around | None = None
        if aggregate.around is not None:
            around = Products(*map(only, aggregate.around))
        if place in centres:
            assert aggregate.over is not None, "an average has its count"
            ((centre, _),), count = centres[place], only(aggregate.over)
            released[centre] = replace(released[centre], around=Centre(count))
            around = Deviation(centre, count)
        if around is not None:
            released[only(place)] = replace(released[only(place)], around=around)


def _need(aggregate: BoundAggregate) -> float:
    return MOMENT_SHARES[_PLAIN[aggregate.function] if aggregate.moment is None else aggregate.moment]


def _finished(release: Release, share: float, distinct: Determined, owned: Owned) -> Release:
    """A release with its share of epsilon, and what is proved of the values that it counts."""
    value = release.distinct
    if value is None or release.adds_values:
        return replace(release, epsilon=share)
    columns = list(map(column_ref, columns_of(value)))
    return replace(release, epsilon=share, determined=distinct(columns), owned=owned(value))


def _signed_sum(terms: list[tuple[int, int]]) -> ReleasedExpression:
    (first, sign), *rest = terms
    value: ReleasedExpression = ReleasedValue(first)
    if sign < 0:
        value = Apply("negate", (value,))
    for release, _ in rest:
        value = Apply("-", (value, ReleasedValue(release)))
    return value


def equal_share(epsilon: float, count: int) -> float:
    """epsilon / count, rounded so that the decimals of `count` shares never exceed epsilon's.

    >>> [equal_share(1.0, 1), equal_share(1.0, 4), equal_share(5.0, 3)]
    [1.0, 0.25, 1.6666666666666665]
    """
    share = epsilon / count
    while Fraction(repr(share)) * count > Fraction(repr(epsilon)):
        share = math.nextafter(share, 0.0)
    return share


def divided(epsilon: float, needs: Sequence[float]) -> list[float]:
    """Shares of epsilon in proportion to the needs; their decimals never exceed epsilon's.

    >>> divided(1.0, [1.0, 1.0, 1.0, 1.0]), divided(1.0, [1.0, 3.0]), divided(3.0, [])
    ([0.25, 0.25, 0.25, 0.25], [0.25, 0.75], [3.0])
    """
    if len(set(needs)) <= 1:
        return [equal_share(epsilon, max(1, len(needs)))] * max(1, len(needs))
    whole = math.fsum(needs)
    shares = [epsilon * (need / whole) for need in needs]
    while sum(Fraction(repr(share)) for share in shares) > Fraction(repr(epsilon)):
        shares = [math.nextafter(share, 0.0) for share in shares]
    return shares


def clamped_notes(query: BoundQuery, policy: Policy) -> tuple[str, ...]:
    """Say how sums count values outside declared ranges; nothing if no sum reads such a column."""
    entries = {entry.alias: entry for entry in query.tables}
    summed = [one.argument for one in query.aggregates if one.function == "sum" and one.argument is not None]
    found = {}
    for alias, name in dict.fromkeys(column_ref(column) for argument in summed for column in columns_of(argument)):
        table = entries[alias].table
        declared = policy.column(table.name, name).range
        if declared is not None and entries[alias].rows is None:
            found[f"{table.name}.{name}"] = f"{declared[0]:g} to {declared[1]:g}"
    ranges = ", ".join(f"{column} ({declared})" for column, declared in found.items())
    return (f"Values outside a column's range count as its nearest end: {ranges}.",) if found else ()


def _parts(aggregate: BoundAggregate, tables: Mapping[str, Table], signed: bool) -> list[_Part]:
    """An aggregate's releases, before their share of epsilon; `signed`: one of a sum over both signs."""
    label, condition = aggregate.label, aggregate.condition
    if aggregate.function == "rank":
        assert aggregate.argument is not None and aggregate.grid is not None and aggregate.rank is not None, "a rank"
        ranked = Ranked(aggregate.argument, aggregate.grid, aggregate.rank)
        weight = whole_weight() if condition is None else whole_weight_where(condition)
        return [(Release(label, weight, 1.0, 0.0, whole=True, ranked=ranked), 1)]
    if aggregate.function != "sum" and aggregate.added is None:
        weight = whole_weight() if condition is None else whole_weight_where(condition)
        # A value that several people share needs less than 1 of each, so only plain counts are whole.
        distinct = aggregate.argument
        return [(Release(label, weight, 1.0, 0.0, whole=distinct is None, distinct=distinct), 1)]
    distinct = None if aggregate.added is None else aggregate.argument
    sql, bounds = aggregate.argument if distinct is None else aggregate.added, aggregate.bounds
    assert sql is not None and bounds is not None, "SUM has an argument"

    def part(name: str, number: exp.Expr, most: float) -> Release:
        offset = row_offset(number, tables) if distinct is None else None  # equal values have equal weights
        weight, bound, rounded = guard_weight(number, most, bounds.digits, offset)
        kept = f"{label}{name}", weight, bound, 0.0, False
        return Release(
            *kept, distinct, adds_values=distinct is not None, most=most, rounded=rounded, column=aggregate.column
        )

    if bounds.lo >= 0:
        return [(part("", sql, bounds.hi or 1.0), 1)]
    minus = exp.Neg(this=sql if isinstance(sql, (exp.Cast, exp.Case)) else exp.Paren(this=sql))
    negative = part(", negative part", minus, -bounds.lo)
    if bounds.hi <= 0:
        return [(negative, -1)]
    if signed and distinct is None:
        most = max(-bounds.lo, bounds.hi)
        one, less = part("", sql, most), part("", minus, most)
        return [(replace(one, less=less.weight), 1)]
    return [(part(", positive part", sql, bounds.hi), 1), (negative, -1)]
