"""The examples of docs/ that no other test runs: SQL, PostgreSQL's protocol, settings and alerts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from server.demo.workplace import Demonstration
from tests.support.wire_proxy import WireProxy

DOCS = Path(__file__).parents[2] / "docs"
NewClient = Callable[..., httpx.Client]


def examples(page: str, kind: str) -> list[str]:
    return re.findall(rf"(?m)^```{kind}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("sql", examples("sql.md", "sql"))
def test_an_example_is_answered_or_refused_as_the_page_says(sql: str, new_client: NewClient) -> None:
    reply = new_client(5.0).post("/v1/query", json={"sql": sql, "epsilon": 1.0})
    if sql.startswith("-- refused"):
        assert reply.status_code == 422 and reply.json()["hint"], reply.text
    else:
        assert reply.is_success, reply.text
        assert reply.json()["rows"]


def test_the_protocol_of_postgresql_is_spoken_as_the_page_says(
    wire: WireProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [example for example in examples("notebooks.md", "python") if "import psycopg\n" in example]
    monkeypatch.setenv("NOISEGATE_DSN", wire.conninfo(*wire.analyst(2.0)))
    names: dict[str, Any] = {}
    exec(compile(code, "docs/notebooks.md", "exec"), names)
    assert names["names"] == ["n_name", "customers", "customers_lo", "customers_hi", "weak", "cut"]
    assert len(names["answered"]) == 25


def test_the_alerts_watch_metrics_that_there_are(new_client: NewClient, demonstration: Demonstration) -> None:
    text = new_client(1.0, role="admin").get("/metrics").text
    there = set(re.findall(r"(?m)^(noisegate_\w+)", text))
    (rules,) = (yaml.safe_load(example) for example in examples("operating.md", "yaml"))
    asked = {rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    page = (DOCS / "operating.md").read_text()
    assert set(re.findall(r"\bnoisegate_\w+", "".join(asked) + page)) <= there


@pytest.mark.parametrize("page", ["first-policy.md", "operating.md", "engines.md"])
def test_every_setting_is_toml(page: str) -> None:
    for example in examples(page, "toml"):
        assert tomllib.loads(example)
