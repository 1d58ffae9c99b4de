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

from tests.support.wire_proxy import WireProxy

DOCS = Path(__file__).parents[2] / "docs"
NewClient = Callable[..., httpx.Client]


def examples(page: str, kind: str) -> list[str]:
    return re.findall(rf"(?m)^```{kind}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL)


def test_examples_are_answered_or_refused_as_the_page_says(new_client: NewClient) -> None:
    found = examples("sql.md", "sql")
    assert len(found) > 3
    http = new_client(5.0 * len(found))
    for sql in found:
        reply = http.post("/v1/query", json={"sql": sql, "epsilon": 1.0})
        if sql.startswith("-- refused"):
            assert reply.status_code == 422 and reply.json()["hint"], reply.text
        else:
            assert reply.is_success, (sql, reply.text)
            assert reply.json()["rows"], sql


def test_the_protocol_of_postgresql_is_spoken_as_the_page_says(
    wire: WireProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [example for example in examples("notebooks.md", "python") if "import psycopg\n" in example]
    monkeypatch.setenv("NOISEGATE_DSN", wire.conninfo(*wire.analyst(2.0)))
    names: dict[str, Any] = {}
    exec(compile(code, "docs/notebooks.md", "exec"), names)
    assert names["names"] == ["n_name", "customers", "customers_lo", "customers_hi", "low_precision", "clipped"]
    assert len(names["answered"]) == 25


def test_the_alerts_watch_metrics_that_there_are(new_client: NewClient) -> None:
    text = new_client(1.0, role="admin").get("/metrics").text
    there = set(re.findall(r"(?m)^(noisegate_\w+)", text))
    (rules,) = (yaml.safe_load(example) for example in examples("operating.md", "yaml"))
    asked = {rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    page = (DOCS / "operating.md").read_text()
    assert set(re.findall(r"\bnoisegate_\w+", "".join(asked) + page)) <= there


def test_every_setting_is_toml() -> None:
    for page in ("first-policy.md", "operating.md", "engines.md"):
        for example in examples(page, "toml"):
            assert tomllib.loads(example), page
