from __future__ import annotations

import json
from dataclasses import asdict, replace

from planner.policy.policy import SideChannels
from server.explain.catalog import Catalog, catalog
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema
from tests.unit.server.http.fakes import FakePipeline, assert_problem, send


class Demo(FakePipeline):
    def catalog(self) -> Catalog:
        return catalog(tpch_schema(), demo_policy())


def test_it_says_what_may_be_asked() -> None:
    body = send("GET", "/v1/schema", pipeline=Demo()).json()
    tables = {table["name"]: table for table in body["tables"]}
    assert tables["nation"]["public"] and not tables["orders"]["public"]
    assert tables["customer"]["privacy_unit"]
    columns = {column["name"]: column for column in tables["lineitem"]["columns"]}
    declared = demo_policy().column("lineitem", "l_quantity").range
    assert declared is not None
    assert (columns["l_quantity"]["low"], columns["l_quantity"]["high"]) == declared
    joined = [join["table"] for join in tables["orders"]["joins"]]
    assert "customer" in joined
    assert body["epsilon"] == demo_policy().epsilon
    assert body["max_epsilon"] == demo_policy().max_epsilon


def test_it_says_what_may_be_asked_of_joins_and_when_their_answers_leave() -> None:
    settings = SideChannels(0.25, unbounded_joins=True, max_join_tuples=7, answer_quantum_s=0.5)

    class Other(FakePipeline):
        def catalog(self) -> Catalog:
            return catalog(tpch_schema(), replace(demo_policy(), side_channels=settings))

    shown = {name: send("GET", "/v1/schema", pipeline=Other()).json()[name] for name in asdict(settings)}
    assert shown == asdict(settings)


def test_its_fields_are_declarations_and_never_counts() -> None:
    body = send("GET", "/v1/schema", pipeline=Demo()).json()
    names = {key for table in body["tables"] for key in table} | {
        key for table in body["tables"] for column in table["columns"] for key in column
    }
    assert names == {
        "name", "namespace", "sql", "public", "privacy_unit", "columns", "keys", "joins", "type", "nullable", "low",
        "high", "domain", "note", "kind",
    }  # fmt: skip
    assert "NaN" not in json.dumps(body)


def test_it_is_for_analysts() -> None:
    assert_problem(send("GET", "/v1/schema", authorized=False), 401, "28P01")
    assert_problem(send("GET", "/v1/schema", role="auditor"), 403, "42501")
