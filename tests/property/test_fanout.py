"""Delta bounds the join tuples of every privacy unit on every instance that keeps what the policy promises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.fanout_instances import SCHEMA, Instance, Row, policy_of, tuples_per_unit
from tests.support.planning import planned
from tests.support.seeds import examples

VALUES = st.one_of(st.none(), st.integers(0, 3))


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    people = [(key, draw(VALUES)) for key in range(4)]
    edges: list[Row] = draw(st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=8))
    orders = [(key, draw(VALUES)) for key in range(draw(st.integers(0, 4)))]
    items = draw(st.lists(st.tuples(VALUES, VALUES), max_size=7))
    pairs = st.tuples(st.integers(0, 3), st.integers(0, 3))
    ties = draw(st.one_of(st.sets(pairs, max_size=8), st.just(set(permutations(range(4), 2)))))
    if draw(st.booleans()):
        ties |= {(b, a) for a, b in ties}
    posts = [(key, draw(VALUES), draw(VALUES)) for key in range(draw(st.integers(0, 4)))]
    notes = draw(st.lists(st.tuples(VALUES, VALUES), max_size=4))
    rows: dict[str, Sequence[Row]] = {"person": people, "knows": edges, "tie": sorted(ties)}
    rows |= {"orders": orders, "item": items, "post": posts, "note": notes}
    return Instance(rows, depth=draw(st.integers(1, 2)))


@st.composite
def queries(draw: st.DrawFn) -> str:
    names = ["knows", "knows", "orders", "item", "person", "tie", "tie", "post", "post", "note"]
    tables = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    columns = [
        f"t{place}.{column.name}" for place, name in enumerate(tables) for column in SCHEMA.tables[name].columns
    ]
    column = st.sampled_from(columns)
    joins = [f"{draw(column)} = {draw(column)}" for _ in range(draw(st.integers(0, 2 * len(tables))))]
    others = draw(st.lists(st.tuples(column, st.sampled_from(["<", "<", ">", "<>", "<="]), column), max_size=3))
    conditions = joins + [" ".join(other) for other in others]
    if draw(st.booleans()):
        conditions.append(f"{draw(column)} = {draw(st.integers(0, 3))}")
    entries = " CROSS JOIN ".join(f"{name} AS t{place}" for place, name in enumerate(tables))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT count(*) FROM {entries}{where}"


@given(instances(), queries())
def test_no_unit_has_more_tuples_than_the_bound(instance: Instance, sql: str) -> None:
    plan = planned(sql, SCHEMA, policy_of(instance))
    assume(plan.bounds.tuples is not None)
    assert max(tuples_per_unit(plan, instance).values(), default=0) <= (plan.bounds.tuples or 0)


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
    "tie x, tie y WHERE x.a = y.b AND x.b = y.a",
    "tie x, tie y WHERE x.a = y.b AND x.b = y.a AND x.a <> y.a",
    "tie x, tie y WHERE x.a = y.a AND x.b <> y.b",
    "tie x, tie y, tie z WHERE x.a = y.b AND x.b = y.a AND x.a < y.a AND z.a = x.a AND z.b <> x.b",
    "tie x, tie y, tie z WHERE x.b = y.a AND y.b = z.a AND z.b = x.a AND x.a <> y.a AND y.a <> z.a",
]


@given(instances())
@settings(max_examples=examples(6, 20))
def test_no_unit_has_more_tuples_than_the_bound_of_a_self_join(instance: Instance) -> None:
    for shape in SHAPES:
        plan = planned(f"SELECT count(*) FROM {shape}", SCHEMA, policy_of(instance))
        assert plan.bounds.tuples is not None, shape
        assert max(tuples_per_unit(plan, instance).values(), default=0) <= plan.bounds.tuples, shape


@given(instances())
@settings(max_examples=examples(12, 20))
def test_rows_per_unit_bound_what_fan_outs_do_not(instance: Instance) -> None:
    sql = "SELECT count(*) FROM item a, item b WHERE a.o = b.o AND a.kind < b.kind"
    items = planned("SELECT count(*) FROM item", SCHEMA, policy_of(instance))
    most = max(tuples_per_unit(items, instance).values(), default=1)
    policy = policy_of(instance, item=most)
    assert (planned("SELECT count(*) FROM item", SCHEMA, policy).bounds.tuples or 0) <= most
    pairs = planned(sql, SCHEMA, policy)
    assert max(tuples_per_unit(pairs, instance).values(), default=0) <= (pairs.bounds.tuples or 0)


@given(instances())
@settings(max_examples=examples(6, 20))
def test_so_do_they_where_a_key_has_two_columns(instance: Instance) -> None:
    ties = planned("SELECT count(*) FROM tie", SCHEMA, policy_of(instance))
    most = max(tuples_per_unit(ties, instance).values(), default=1)
    for shape in (shape for shape in SHAPES if shape.startswith("tie")):
        plan = planned(f"SELECT count(*) FROM {shape}", SCHEMA, policy_of(instance, tie=most))
        assert plan.bounds.tuples is not None, shape
        assert max(tuples_per_unit(plan, instance).values(), default=0) <= plan.bounds.tuples, shape
