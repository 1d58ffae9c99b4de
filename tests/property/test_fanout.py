"""Delta bounds the join tuples of every privacy unit on every instance that keeps the declared fan-outs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.plan import Plan
from planner.policy import DeclaredForeignKey, Policy, TablePolicy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import planned

Row = Sequence[int | None]

PERSON = Table("person", "public", (Column("id", "bigint", False), Column("town", "bigint", True)), (("id",),), ())
KNOWS = Table(
    "knows",
    "public",
    (Column("src", "bigint", False), Column("dst", "bigint", True)),
    (),
    (ForeignKey(("src",), "person", ("id",)), ForeignKey(("dst",), "person", ("id",))),
)
ORDERS = Table(
    "orders",
    "public",
    (Column("num", "bigint", False), Column("buyer", "bigint", True)),
    (("num",),),
    (ForeignKey(("buyer",), "person", ("id",)),),
)
ITEM = Table(
    "item",
    "public",
    (Column("o", "bigint", True), Column("kind", "bigint", True)),
    (),
    (ForeignKey(("o",), "orders", ("num",)),),
)
TABLES = (PERSON, KNOWS, ORDERS, ITEM)
SCHEMA = Schema({table.name: table for table in TABLES})

POLICY = parse_policy("""
name = "graph"
[database]
url = "env:X"
[ledger]
path = "x"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.knows]
[tables.orders]
[tables.item]
""")


@dataclass(frozen=True)
class Instance:
    rows: Mapping[str, Sequence[Row]]

    def fanout(self, table: str, columns: tuple[str, ...]) -> int:
        """The most rows of the table that share their values in some columns."""
        names = [column.name for column in SCHEMA.tables[table].columns]
        places = [names.index(column) for column in columns]
        keys = [tuple(row[place] for place in places) for row in self.rows[table]]
        return max(Counter(key for key in keys if None not in key).values(), default=1)


def policy_of(instance: Instance, *, items_per_person: int | None = None) -> Policy:
    """The tightest promises that the instance keeps."""
    declared = [
        DeclaredForeignKey(table.name, key.columns, key.references, key.key, fanout=fanout)
        for table in TABLES
        for key in table.foreign_keys
        for fanout in [instance.fanout(table.name, key.columns)]
    ]
    tables = dict(POLICY.tables)
    if items_per_person is not None:
        tables["item"] = TablePolicy(rows_per_unit={"person": items_per_person})
    return replace(POLICY, foreign_keys=tuple(declared), tables=tables)


def tuples_per_unit(plan: Plan, instance: Instance) -> dict[object, int]:
    """How many join tuples each unit owns."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("ATTACH ':memory:' AS public")
        for table in TABLES:
            columns = ", ".join(f"{column.name} INTEGER" for column in table.columns)
            connection.execute(f"CREATE TABLE public.{table.name} ({columns})")
            marks = ", ".join("?" for _ in table.columns)
            connection.executemany(f"INSERT INTO public.{table.name} VALUES ({marks})", instance.rows[table.name])
        select = plan.source.select(*(owner.key for owner in plan.owners), append=False)
        owners = connection.execute(select.sql("sqlite")).fetchall()
    connection.close()
    return Counter(unit for row in owners for unit in set(row) - {None})


VALUES = st.one_of(st.none(), st.integers(0, 3))


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    people = [(key, draw(VALUES)) for key in range(4)]
    edges: list[Row] = draw(st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=8))
    orders = [(key, draw(VALUES)) for key in range(draw(st.integers(0, 4)))]
    items = draw(st.lists(st.tuples(VALUES, VALUES), max_size=7))
    return Instance({"person": people, "knows": edges, "orders": orders, "item": items})


@st.composite
def queries(draw: st.DrawFn) -> str:
    tables = draw(st.lists(st.sampled_from(["knows", "knows", "orders", "item", "person"]), min_size=1, max_size=4))
    columns = [
        f"t{place}.{column.name}" for place, name in enumerate(tables) for column in SCHEMA.tables[name].columns
    ]
    column = st.sampled_from(columns)
    joins = [f"{draw(column)} = {draw(column)}" for _ in range(draw(st.integers(0, 2 * len(tables))))]
    others = draw(st.lists(st.tuples(column, st.sampled_from(["<", "<", ">", "<>", "<="]), column), max_size=3))
    conditions = joins + [" ".join(other) for other in others]
    if draw(st.booleans()):
        conditions.append(f"{draw(column)} = {draw(st.integers(0, 3))}")
    entries = ", ".join(f"{name} AS t{place}" for place, name in enumerate(tables))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT count(*) FROM {entries}{where}"


@given(instances(), queries())
@settings(max_examples=120, deadline=None)
def test_no_unit_has_more_tuples_than_the_bound(instance: Instance, sql: str) -> None:
    plan = planned(sql, SCHEMA, policy_of(instance))
    assume(plan.tuples_per_unit is not None)
    assert max(tuples_per_unit(plan, instance).values(), default=0) <= (plan.tuples_per_unit or 0)


SHAPES = [
    "item a, item b WHERE a.o = b.o",
    "item a, item b WHERE a.o = b.o AND a.kind <> b.kind",
    "item a, item b WHERE a.o = b.o AND a.kind < b.kind",
    "item a, item b, item c WHERE a.o = b.o AND a.o = c.o AND a.kind < b.kind",
    "item a, item b, item c WHERE a.o = b.o AND a.o = c.o AND a.kind < b.kind AND b.kind < c.kind",
    "item a, item b, orders p WHERE a.o = p.num AND a.kind < b.kind AND b.o = a.o AND p.buyer < a.kind",
    "orders p, orders q WHERE p.buyer = q.buyer AND p.num > q.num",
    "orders p, orders q, item i WHERE p.buyer = q.buyer AND p.num > q.num AND i.o = p.num",
    "orders p, orders q, item i WHERE p.buyer = q.buyer AND p.num <> q.num AND i.o = p.num",
    "knows a, knows b WHERE a.dst = b.src AND a.src < b.src",
    "knows a, knows b WHERE a.dst = b.src AND b.dst = a.src AND a.src < b.src",
    "knows a, knows b WHERE a.dst = b.dst AND a.src < b.src AND a.src = 1",
    "knows a, knows b, person p WHERE a.dst = b.dst AND a.src < b.src AND p.id = a.src",
    "knows a, knows b, knows c WHERE a.src = b.src AND b.dst = c.dst AND a.dst < b.dst",
    "orders p, orders q WHERE p.buyer = q.buyer AND p.num < q.num AND p.num = 1",
]


@pytest.mark.parametrize("shape", SHAPES)
@given(instance=instances())
@settings(max_examples=8, deadline=None)
def test_no_unit_has_more_tuples_than_the_bound_of_a_self_join(shape: str, instance: Instance) -> None:
    plan = planned(f"SELECT count(*) FROM {shape}", SCHEMA, policy_of(instance))
    assert plan.tuples_per_unit is not None
    assert max(tuples_per_unit(plan, instance).values(), default=0) <= plan.tuples_per_unit


@given(instances())
@settings(max_examples=20, deadline=None)
def test_rows_per_unit_bound_what_fan_outs_do_not(instance: Instance) -> None:
    sql = "SELECT count(*) FROM item a, item b WHERE a.o = b.o AND a.kind < b.kind"
    items = planned("SELECT count(*) FROM item", SCHEMA, policy_of(instance))
    most = max(tuples_per_unit(items, instance).values(), default=1)
    policy = policy_of(instance, items_per_person=most)
    assert (planned("SELECT count(*) FROM item", SCHEMA, policy).tuples_per_unit or 0) <= most
    pairs = planned(sql, SCHEMA, policy)
    assert max(tuples_per_unit(pairs, instance).values(), default=0) <= (pairs.tuples_per_unit or 0)


def _instance(edges: Iterable[Row]) -> Instance:
    edges = list(edges)
    people = {value for row in edges for value in row if value is not None}
    return Instance({"person": [(key, None) for key in sorted(people)], "knows": edges, "orders": [], "item": []})


def tree(degree: int, depth: int) -> list[Row]:
    """Around 0: everybody within reach knows `degree` people and is known by as many, no two of them the same."""
    edges: list[Row] = []
    fresh, ring = 1, [(0, degree, degree)]
    for _ in range(depth):
        following = []
        for person, out, into in ring:
            for _ in range(out):
                edges.append((person, fresh))
                following.append((fresh, degree, degree - 1))
                fresh += 1
            for _ in range(into):
                edges.append((fresh, person))
                following.append((fresh, degree - 1, degree))
                fresh += 1
        ring = following
    return edges


def check_reached(sql: str, edges: Iterable[Row], expected: int) -> None:
    """The bound, and that this instance needs it."""
    instance = _instance(edges)
    plan = planned(sql, SCHEMA, policy_of(instance))
    assert plan.tuples_per_unit == expected
    assert max(tuples_per_unit(plan, instance).values()) == expected


def test_edges_two_paths_and_three_paths_are_reached() -> None:
    for degree in (2, 3, 4):
        check_reached("SELECT count(*) FROM knows", tree(degree, 2), 2 * degree)
        check_reached("SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src", tree(degree, 2), 3 * degree**2)
    path = "SELECT count(*) FROM knows a, knows b, knows c WHERE a.dst = b.src AND b.dst = c.src"
    check_reached(path, tree(3, 3), 4 * 27)


def test_pairs_of_edges_at_one_person_count_once() -> None:
    """privacy.md section 3: 2-paths at degree D are 1.5 D (D - 1)."""
    star = "SELECT count(*) FROM knows a JOIN knows b ON a.src = b.src WHERE a.dst < b.dst"
    for degree in (2, 3, 5, 8):
        check_reached(star, tree(degree, 2), 3 * degree * (degree - 1) // 2)
    ordered = "SELECT count(*) FROM knows a JOIN knows b ON a.src = b.src WHERE a.dst <> b.dst"
    check_reached(ordered, tree(4, 2), 3 * 4 * 3)


def test_stars_with_three_arms() -> None:
    star = (
        "SELECT count(*) FROM knows a, knows b, knows c WHERE a.src = b.src AND b.src = c.src "
        "AND a.dst < b.dst AND b.dst < c.dst"
    )
    check_reached(star, tree(5, 2), 10 + 5 * 6)  # C(5, 3) in the middle, 5 C(4, 2) at an arm


def test_rings_count_once_per_rotation() -> None:
    ring = (
        "SELECT count(*) FROM knows a, knows b, knows c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src "
        "AND a.src < b.src AND a.src < c.src"
    )
    instance = _instance((one, other) for one, other in product(range(4), repeat=2) if one != other)
    plan = planned(ring, SCHEMA, policy_of(instance))
    assert plan.tuples_per_unit == 3 * 27 // 3
    assert max(tuples_per_unit(plan, instance).values()) == 6


def test_chains_over_orders_are_reached() -> None:
    orders = [(10 * person + k, person) for person in range(2) for k in range(3)]
    items = [(number, kind) for number, _ in orders for kind in range(4)]
    instance = Instance({"person": [(0, None), (1, None)], "knows": [], "orders": orders, "item": items})
    for sql in ("SELECT count(*) FROM item", "SELECT count(*) FROM item, orders WHERE o = num"):
        plan = planned(sql, SCHEMA, policy_of(instance))
        assert plan.tuples_per_unit == 12
        assert max(tuples_per_unit(plan, instance).values()) == 12


def one_buyer(orders: int, kinds: int) -> Instance:
    """One person with some orders, each with one item of every kind."""
    items = [(number, kind) for number in range(orders) for kind in range(kinds)]
    return Instance({"person": [(0, None)], "knows": [], "orders": [(n, 0) for n in range(orders)], "item": items})


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("item a, item b WHERE a.o = b.o", 3 * 4 * 4),
        ("item a, item b WHERE a.o = b.o AND a.kind <> b.kind", 3 * 4 * 3),
        ("item a, item b WHERE a.o = b.o AND a.kind < b.kind", 3 * 6),
        ("item a, item b, item c WHERE a.o = b.o AND a.o = c.o AND a.kind < b.kind", 3 * 6 * 4),
        ("item a, item b, item c WHERE a.o = b.o AND a.o = c.o AND a.kind < b.kind AND b.kind < c.kind", 3 * 4),
        ("item a, item b, item c WHERE a.o = b.o AND a.o = c.o AND a.kind < b.kind AND b.kind <> c.kind", 3 * 6 * 3),
        ("orders p, orders q WHERE p.buyer = q.buyer", 9),
        ("orders p, orders q WHERE p.buyer = q.buyer AND p.num > q.num", 3),
        ("orders p, orders q, item i WHERE p.buyer = q.buyer AND p.num <> q.num AND i.o = p.num", 3 * 2 * 4),
        ("orders p, orders q WHERE p.buyer = q.buyer AND p.num < q.num AND p.num = 0", 2),
    ],
)
def test_self_joins_of_one_buyer(shape: str, expected: int) -> None:
    """Those that strict comparisons cut in equal parts are reached; where they do not, nothing is divided."""
    instance = one_buyer(3, 4)
    plan = planned(f"SELECT count(*) FROM {shape}", SCHEMA, policy_of(instance))
    reached = max(tuples_per_unit(plan, instance).values())
    assert reached == expected
    assert plan.tuples_per_unit is not None and plan.tuples_per_unit >= reached
    if "b.kind <> c" not in shape:  # c differs from b but not from a: that is not used
        assert plan.tuples_per_unit == reached


def test_an_order_along_a_path_divides_nothing() -> None:
    """`a.src < b.src` breaks no symmetry where a and b cannot change places."""
    edges = tree(3, 2)
    rank: dict[object, int] = {}
    while len(rank) < len({value for row in edges for value in row}):
        blocked = {target for source, target in edges if source not in rank}
        free = {value for row in edges for value in row} - blocked - rank.keys()
        rank |= {value: len(rank) + place for place, value in enumerate(sorted(free, key=str))}
    path = "SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src AND a.src < b.src"
    check_reached(path, [(rank[source], rank[target]) for source, target in edges], 27)


def test_two_edges_change_places_only_if_a_third_does_not_mind() -> None:
    """Here 0 starts `b` and `c` as often as can be: half of the sum over positions would be too little."""
    edges = tree(3, 3)
    after = {target for source, target in edges if source == 0}
    rank = {person: -(person or 0) if person in after else person for row in edges for person in row} | {0: 10**6}
    instance = _instance((rank[source], rank[target]) for source, target in edges)
    sql = "SELECT count(*) FROM knows a, knows b, knows c WHERE a.dst = b.dst AND a.src = c.dst AND a.src < b.src"
    plan = planned(sql, SCHEMA, policy_of(instance))
    assert max(tuples_per_unit(plan, instance).values()) == 45
    assert plan.tuples_per_unit == 72


def test_undeclared_fan_outs_give_no_bound() -> None:
    for sql in ("knows", "knows a, knows b WHERE a.dst = b.src", "person, item", "orders a, orders b"):
        assert planned(f"SELECT count(*) FROM {sql}", SCHEMA, POLICY).tuples_per_unit is None
    assert planned("SELECT count(*) FROM person", SCHEMA, POLICY).tuples_per_unit == 1
