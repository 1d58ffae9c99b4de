"""First questions are about people, few groups, and more than noise at the default epsilon, by what is public."""

from __future__ import annotations

from dataclasses import replace

from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from server.explain.catalog import catalog
from server.workers.measure import plan_measurements
from tests.support.planning import DEMO_POLICY, planned
from tests.support.tpch_schema import tpch_schema

DECLARED = 'o_orderdate = { range = [1992-01-01, 1998-12-31] }\no_orderstatus = { domain = ["F", "O", "P"] }\n'
TEXT = DEMO_POLICY.read_text().replace("[tables.orders]\n", f"[tables.orders.columns]\n{DECLARED}")
GROUPS = {"people by year": 7, "people by year and o_orderstatus": 21, "people by o_orderstatus": 3}


def demo(epsilon: float = 1.0) -> Policy:
    return replace(parse_policy(TEXT), epsilon=epsilon, max_epsilon=max(epsilon, 4.0))


def offered(policy: Policy, schema: Schema | None = None) -> dict[str, str]:
    return {one.name: one.sql for one in catalog(schema or tpch_schema(), policy).examples}


def test_each_names_its_table_those_about_people_come_first_and_all_can_be_asked() -> None:
    found = offered(demo())
    assert list(found) == [
        "customer: how many",
        "customer: by nation",
        "orders: people by year",
        "orders: people by o_orderstatus",
        "orders: average o_totalprice",
    ]
    for sql in found.values():
        assert planned(sql, tpch_schema(), demo()).epsilon == 1.0


def test_each_is_right_within_some_dozens_of_people_at_the_default_epsilon() -> None:
    for epsilon in [0.05, 0.2, 0.5, 1.0, 2.0]:
        policy = demo(epsilon)
        found = {name: sql for name, sql in offered(policy).items() if "average" not in name}
        for name, sql in found.items():
            plan = planned(sql, tpch_schema(), policy, epsilon=epsilon)
            groups = GROUPS.get(name.removeprefix("orders: "), 1)
            (measured,) = plan_measurements(plan, policy).releases
            (_, half), *_ = measured.expected_noise(groups)
            assert half <= 50.0, name
        assert ("orders: people by year" in found) == (epsilon >= 0.5), epsilon
        assert ("orders: people by year and o_orderstatus" in found) == (epsilon >= 2), epsilon
        assert bool(found) == (epsilon >= 0.06), epsilon


def table(name: str, columns: dict[str, str], *owners: str) -> Table:
    keys = tuple(ForeignKey((owner,), "patient", ("Id",)) for owner in owners)
    found = tuple(Column(column, kind, nullable=False) for column, kind in columns.items())
    return Table(name, "public", found, ((found[0].name,),), keys)


def test_names_are_quoted_and_a_row_of_two_people_is_no_example() -> None:
    patient = table("patient", {"Id": "bigint", "Ward": "text"})
    visit = table(
        "visit", {"id": "bigint", "Who": "bigint", "Year": "integer", "Cost": "numeric(8,2)", "At": "date"}, "Who"
    )
    letter = table("letter", {"id": "bigint", "from": "bigint", "to": "bigint", "sent": "date"}, "from", "to")
    schema = Schema({one.name: one for one in (patient, visit, letter)})
    text = DEMO_POLICY.read_text().split("[privacy_units]")[0] + (
        '[privacy_units]\npatient = "Id"\n[tables.patient.columns]\nWard = { domain = ["A", "B"] }\n'
        "[tables.visit.columns]\nYear = { range = [2020, 2023] }\n"
        "Cost = { range = [0, 9] }\nAt = { range = [2020-01-01, 2023-12-31] }\n"
        "[tables.letter.columns]\nsent = { range = [2020-01-01, 2023-12-31] }\n"
    )
    policy = parse_policy(text)
    found = offered(policy, schema)
    assert list(found) == ["patient: how many", "patient: by Ward", "visit: people by year", "visit: average Cost"]
    assert found["visit: average Cost"] == 'SELECT avg("Cost")\nFROM visit'
    for sql in found.values():
        assert planned(sql, schema, policy).epsilon > 0
