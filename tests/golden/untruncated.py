"""The rewriting of a question, executed without truncation and noise, beside the question itself.

The sums over the join tuples are taken by the database, so that nothing of the proxy but the planner is in between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb as duckdb_driver
import psycopg

from planner.plan import BackendQuery, Centre, Deviation, Plan, Products, Release
from planner.released_expression import KeyValue
from planner.rewriting.rewrite import rewrite
from planner.sql.rank_grid import Grid
from privacy.units import ONE
from tests.golden.released_arithmetic import Value, evaluate, plain

Rows = list[tuple[Any, ...]]
Run = Callable[[str], Rows]
"""A database: SQL text to rows."""

_RELATIVE = Fraction(1, 10**6)  # rounding every weight to 2^-30 of its bound: values are 0.1% of it, or more

Group = tuple[Value, ...]


@dataclass(frozen=True)
class Answer:
    """What an analyst would see without truncation and noise.

    Attributes:
      rows: by group key, the columns of the answer, in the order shown; HAVING, LIMIT and OFFSET applied.
      empty: the groups of the public domain in which nothing adds to any release.
      reached: the groups that some join tuple falls into, whether it adds anything or not.
    """

    rows: dict[Group, tuple[Value, ...]]
    empty: frozenset[Group]
    reached: frozenset[Group]


def postgres(url: str) -> Run:
    """One connection per statement."""

    def run(statement: str) -> Rows:
        with psycopg.connect(url) as connection:
            return connection.execute(statement.encode()).fetchall()

    return run


def duckdb(path: Path, namespace: str) -> Run:
    """One connection per statement, at UTC; names without a schema are those of `namespace`."""

    def run(statement: str) -> Rows:
        with duckdb_driver.connect(path, read_only=True) as connection:
            connection.execute(f"USE {namespace}; SET TimeZone = 'UTC'")
            return connection.execute(statement).fetchall()

    return run


def untruncated(plan: Plan, run: Run, query: BackendQuery | None = None) -> Answer:
    """Execute the plan's statements, PostgreSQL's unless `query` holds others, and apply its arithmetic, exactly."""
    query = query or rewrite(plan)
    weights = _weights(plan, query, run)
    groups = _groups(query, run, weights)
    reached = frozenset(group for weight in weights for group in weight)
    nothing = [Fraction(0) for _ in plan.releases]
    released = {group: _released(plan, weights, group) if group in reached else nothing for group in groups}
    shown = [group for group in groups if _passes(plan, released[group], group)]
    for key in reversed(plan.display.order):
        values = {group: evaluate(key.expression, released[group], group) for group in shown}
        known = [group for group in shown if values[group] is not None]
        null = [group for group in shown if values[group] is None]
        known.sort(key=values.__getitem__, reverse=key.descending)  # type: ignore[arg-type]
        shown = null + known if key.nulls_first else known + null
    rows = {
        group: tuple(evaluate(output.expression, released[group], group) for output in plan.display.outputs)
        for group in shown[plan.display.rows]
    }
    empty = frozenset(group for group in groups if not any(released[group]))
    return Answer(rows, empty, reached)


def assert_same(answer: Answer, plan: Plan, written: Rows) -> None:
    """Is the answer what the analyst's own statement returned? Groups that nothing falls into count as absent.

    All agree up to the rounding of weights, counts and sums of whole numbers also to the last unit; rows agree in
    order when the statement has one, as far as its values do.
    """
    shown = [row for group, row in answer.rows.items() if group not in answer.empty or not plan.group_keys]
    expected = [tuple(map(plain, row)) for row in written]
    assert len(shown) == len(expected), f"{len(shown)} rows instead of {len(expected)}"
    if not plan.display.order:
        shown, expected = (sorted(rows, key=lambda row: _keys(plan, row)) for rows in (shown, expected))
    for row, truth in zip(shown, expected, strict=True):
        for output, value, true in zip(plan.display.outputs, row, truth, strict=True):
            assert _close(value, true, whole=output.type == "int8"), f"{output.name}: {value} instead of {true}"


def _keys(plan: Plan, row: tuple[Value, ...]) -> list[str]:
    """The group keys that a row shows; every group has others, so they pair rows of two answers."""
    shown = zip(plan.display.outputs, row, strict=True)
    return [repr(value) for output, value in shown if isinstance(output.expression, KeyValue)]


def _close(value: Value, true: Value, *, whole: bool) -> bool:
    if not isinstance(value, Fraction):
        return value == true or (not value and true is None)  # an empty sum is zero here, NULL there
    if true is None:
        return value == 0
    near = isinstance(true, Fraction) and abs(value - true) <= _RELATIVE * max(abs(true), Fraction(1))
    return near and (not whole or round(value) == true)


def _weights(plan: Plan, query: BackendQuery, run: Run) -> list[dict[Group, int]]:
    """Per release, the sum of the weights by group; a join tuple that nobody owns does not count."""
    owned = " OR ".join(f"o{place} IS NOT NULL" for place in range(len(query.relations)))
    keys = [f"k{index}" for index in range(len(plan.group_keys))]
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    owned = " OR ".join(f"o{index} IS NOT NULL" for index in range(len(plan.owners)))  # a tuple of nobody is dropped
    found: list[dict[Group, int]] = [{} for _ in plan.releases]
    joined = [index for index, statement in enumerate(query.distinct) if statement is None]
    if query.join is not None:
        signed = [index for index in joined if plan.releases[index].less is not None]
        less = {index: len(joined) + turn for turn, index in enumerate(signed)}
        sums = [
            f"sum(w{place})" + (f" - sum(w{less[index]})" if index in less else "")
            for place, index in enumerate(joined)
        ]
        for row in run(f"SELECT {', '.join([*keys, *sums])} FROM ({query.join}) AS joined WHERE {owned}{by}"):
            for place, index in enumerate(joined):
                found[index][tuple(map(plain, row[: len(keys)]))] = int(row[len(keys) + place] or 0)
    if query.contributions is not None:
        sums_of = [found[index] for index in joined]
        if query.by_norm:  # rows of no public group add to no length
            public = set(_groups(query, run, found))
            sums_of = [{group: total for group, total in one.items() if group in public} for one in sums_of]
        _assert_same_loads(query, keys, run, sums_of)
    for index, statement in enumerate(query.distinct):
        if statement is not None and index in query.ranked:
            found[index] = _ranked(plan.releases[index], run(statement), len(plan.owners), len(keys))
        elif statement is not None:
            each = f"SELECT {', '.join([*keys, 'v'])}, max(w0) AS w FROM ({statement}) AS joined"
            each += f" WHERE w0 > 0 AND v IS NOT NULL AND ({owned}) GROUP BY {', '.join([*keys, 'v'])}"
            for row in run(f"SELECT {', '.join([*keys, 'sum(w)'])} FROM ({each}) AS added{by}"):
                found[index][tuple(map(plain, row[:-1]))] = int(row[-1] or 0)
    return found


def _assert_same_loads(query: BackendQuery, keys: list[str], run: Run, sums: list[dict[Group, int]]) -> None:
    """Where the database counts loads instead, they add up to what the units have."""
    counted: list[dict[Group, int]] = [{} for _ in sums]
    by = ", ".join([*keys, "i"])
    for row in run(f"SELECT {by}, sum(s) FROM ({query.contributions}) AS counted GROUP BY {by}"):
        if row[len(keys)] >= len(sums):
            continue  # how many people each group has, which a selection of groups asks for
        counted[row[len(keys)]][tuple(map(plain, row[: len(keys)]))] = int(row[-1])
    found, expected = (
        [{group: all_of for group, all_of in one.items() if all_of} for one in by] for by in (counted, sums)
    )
    assert found == expected


def _ranked(release: Release, rows: Rows, owners: int, keys: int) -> dict[Group, int]:
    """By group, the value at its exact rank, in units; of a quantile between two rows that of the lower one's
    side."""
    assert release.ranked is not None
    places: dict[Group, list[int]] = {}
    for row in rows:
        if row[-2] is not None and row[-1] > 0 and any(owner is not None for owner in row[:owners]):
            group = tuple(map(plain, row[owners : owners + keys]))
            places.setdefault(group, []).extend([int(row[-2])] * (int(row[-1]) // ONE))
    grid, rank = release.ranked.grid, release.ranked.rank
    found = {}
    for group, values in places.items():
        values.sort()
        if rank.quantile is None:
            value = _at(values[-1] if rank.highest else values[0], grid)
        elif "disc" in release.label:
            value = _at(values[max(0, math.ceil(Fraction(str(rank.quantile)) * len(values)) - 1)], grid)
        else:
            low, between = divmod(Fraction(str(rank.quantile)) * (len(values) - 1), 1)
            value, above = (_at(values[min(int(low) + more, len(values) - 1)], grid) for more in (0, 1))
            value += between * (above - value)
        found[group] = int(value * ONE)
    return found


def _at(place: int, grid: Grid) -> Fraction:
    even = Fraction(str(grid.low)) + Fraction(str(grid.step)) * place
    return even if grid.zero is None else Fraction(grid.at(place))


def _groups(query: BackendQuery, run: Run, weights: list[dict[Group, int]]) -> list[Group]:
    """Every combination of what the public knows of the keys; where some are found, those that a row is in."""
    if query.discovered:
        return _found_groups(query, run, weights)
    domains: list[list[tuple[object, ...]]] = []
    for statement, values in zip(query.domains, query.values, strict=True):
        assert (statement is None) != (values is None)
        domains.append([(_exact(value),) for value in values or ()] if statement is None else run(statement))
    places = [key for keys in query.domain_keys for key in keys]
    groups = []
    for combination in itertools.product(*domains):
        found = dict(zip(places, itertools.chain(*combination), strict=True))
        groups.append(tuple(plain(found[key]) for key in range(len(places))))
    return groups


def _found_groups(query: BackendQuery, run: Run, weights: list[dict[Group, int]]) -> list[Group]:
    """The groups that rows are in, whose keys of public domains are among their values."""
    groups = list(dict.fromkeys(group for weight in weights for group in weight))
    for statement, values, keys in zip(query.domains, query.values, query.domain_keys, strict=True):
        if (statement, values) == (None, None):
            continue
        rows = [(_exact(value),) for value in values or ()] if statement is None else run(statement)
        known = {tuple(map(plain, row)) for row in rows}
        groups = [group for group in groups if tuple(group[key] for key in keys) in known]
    return groups


def _exact(value: object) -> object:
    """A key with a fraction as a decimal, which is what `server.backends.columns.key_index` makes of it."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def _released(plan: Plan, weights: list[dict[Group, int]], group: Group) -> list[Fraction]:
    raw = [
        Fraction(release.weight_bound) * weight.get(group, 0) / ONE
        for release, weight in zip(plan.releases, weights, strict=True)
    ]
    released = list(raw)
    for place, release in enumerate(plan.releases):
        match release.around:
            case Products(x, y, count):
                released[place] = raw[place] - (raw[x] * raw[y] / raw[count] if raw[count] else 0)
            case Centre():  # whatever it is, the average is the same
                released[place] = Fraction(release.weight_bound) / 3
            case Deviation(centre, count):
                released[place] = raw[place] - Fraction(plan.releases[centre].weight_bound) / 3 * raw[count]
    return released


def _passes(plan: Plan, released: list[Fraction], group: Group) -> bool:
    return plan.display.having is None or evaluate(plan.display.having, released, group) is True
