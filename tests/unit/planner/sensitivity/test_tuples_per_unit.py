"""Instances that keep the declared fan-outs and need all of Delta."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from planner.policy.policy import DeclaredForeignKey
from tests.golden.tpch.queries import policy
from tests.support.fanout_instances import POLICY, SCHEMA, Instance, Row, policy_of, tuples_per_unit
from tests.support.planning import planned
from tests.support.tpch_schema import tpch_schema


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
    assert plan.bounds.tuples == expected
    assert max(tuples_per_unit(plan, instance).values()) == expected


def test_edges_two_paths_and_three_paths_are_reached() -> None:
    for degree in (2, 3, 4):
        check_reached("SELECT count(*) FROM knows", tree(degree, 2), 2 * degree)
        check_reached("SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src", tree(degree, 2), 3 * degree**2)
    path = "SELECT count(*) FROM knows a, knows b, knows c WHERE a.dst = b.src AND b.dst = c.src"
    check_reached(path, tree(3, 3), 4 * 27)


def test_pairs_of_edges_at_one_person_count_once() -> None:
    """docs/mathematics.md, section 2.6: 2-paths at degree D are 1.5 D (D - 1)."""
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
    assert plan.bounds.tuples == 3 * 27 // 3
    assert max(tuples_per_unit(plan, instance).values()) == 6


def test_chains_over_orders_are_reached() -> None:
    orders = [(10 * person + k, person) for person in range(2) for k in range(3)]
    items = [(number, kind) for number, _ in orders for kind in range(4)]
    instance = Instance({"person": [(0, None), (1, None)], "knows": [], "orders": orders, "item": items})
    for sql in ("SELECT count(*) FROM item", "SELECT count(*) FROM item, orders WHERE o = num"):
        plan = planned(sql, SCHEMA, policy_of(instance))
        assert plan.bounds.tuples == 12
        assert max(tuples_per_unit(plan, instance).values()) == 12


def test_a_post_is_found_from_its_note() -> None:
    """0 has four notes by themselves, four on their posts, and four on answers to those: an owner in each place."""
    posts = [row for n in range(4) for row in ((n, None, 0), (4 + n, n, 1), (8 + n, None, 2))]
    notes = [(post, writer) for n in range(4) for post, writer in ((n, 3), (4 + n, 4), (8 + n, 0))]
    instance = Instance({"person": [(key, None) for key in range(5)], "post": posts, "note": notes})
    plan = planned("SELECT count(*) FROM note", SCHEMA, policy_of(instance))
    assert plan.bounds.tuples == max(tuples_per_unit(plan, instance).values()) == 12


def one_buyer(orders: int, kinds: int) -> Instance:
    """One person with some orders, each with one item of every kind."""
    items = [(number, kind) for number in range(orders) for kind in range(kinds)]
    return Instance({"person": [(0, None)], "knows": [], "orders": [(n, 0) for n in range(orders)], "item": items})


def test_self_joins_of_one_buyer() -> None:
    """Those that strict comparisons cut in equal parts are reached; where they do not, nothing is divided."""
    for shape, expected in [
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
    ]:  # fmt: skip
        instance = one_buyer(3, 4)
        plan = planned(f"SELECT count(*) FROM {shape}", SCHEMA, policy_of(instance))
        reached = max(tuples_per_unit(plan, instance).values())
        assert reached == expected
        assert plan.bounds.tuples is not None and plan.bounds.tuples >= reached
        if "b.kind <> c" not in shape:  # c differs from b but not from a: that is not used
            assert plan.bounds.tuples == reached


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
    assert plan.bounds.tuples == 72


def test_undeclared_fan_outs_give_no_bound() -> None:
    for sql in (
        "knows",
        "knows a, knows b WHERE a.dst = b.src",
        "person CROSS JOIN item",
        "orders a CROSS JOIN orders b",
    ):
        assert planned(f"SELECT count(*) FROM {sql}", SCHEMA, POLICY).bounds.tuples is None
    assert planned("SELECT count(*) FROM person", SCHEMA, POLICY).bounds.tuples == 1


def test_a_condition_more_never_raises_the_bound() -> None:
    """A column that is fixed breaks a symmetry. Then the join without the condition bounds the tuples as before."""
    fanout = DeclaredForeignKey("orders", ("o_custkey",), "customer", ("c_custkey",), fanout=5)
    allowed = replace(policy(), foreign_keys=(*policy().foreign_keys, fanout))
    pairs = "SELECT count(*) FROM orders a, orders b WHERE a.o_custkey = b.o_custkey AND a.o_orderkey < b.o_orderkey"
    for more in ("", "b.o_orderstatus = 'F'", "b.o_orderdate = DATE '1995-01-01'", "b.o_shippriority = 1"):
        plan = planned(f"{pairs} AND {more}" if more else pairs, tpch_schema(), allowed)
        assert plan.bounds.tuples == 10, more
    fixed = f"{pairs} AND b.o_orderkey = 7"
    assert planned(fixed, tpch_schema(), allowed).bounds.tuples == 4, "a constant completes a key"
