from __future__ import annotations

import json

from server.catalog import Catalog, catalog
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


def test_its_fields_are_declarations_and_never_counts() -> None:
    body = send("GET", "/v1/schema", pipeline=Demo()).json()
    names = {key for table in body["tables"] for key in table} | {
        key for table in body["tables"] for column in table["columns"] for key in column
    }
    assert names == {
        "name", "public", "privacy_unit", "columns", "keys", "joins", "type", "nullable", "low", "high", "domain",
        "note",
    }  # fmt: skip
    assert "NaN" not in json.dumps(body)


def test_it_is_for_analysts() -> None:
    assert_problem(send("GET", "/v1/schema", authorized=False), 401, "28P01")
    assert_problem(send("GET", "/v1/schema", role="auditor"), 403, "42501")
