"""Dashboards and notebooks over plain HTTP: the recipes of docs/, and what refreshing costs."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.wire_proxy import WireProxy

NewClient = Callable[..., httpx.Client]

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = (DOCS / "dashboards.md").read_text() + (DOCS / "notebooks.md").read_text()
PANELS = tuple(
    f"SELECT count(*) FROM orders WHERE o_orderdate >= now() - INTERVAL '{years} years'" for years in range(28, 36)
)
EPSILON = 0.1


def refreshed(http: httpx.Client) -> list[dict[str, Any]]:
    """All panels at once, as a browser asks for them."""

    def panel(sql: str) -> dict[str, Any]:
        reply = http.post("/v1/query", json={"sql": sql, "epsilon": EPSILON})
        assert reply.is_success, reply.text
        body: dict[str, Any] = reply.json()
        return body

    with ThreadPoolExecutor(len(PANELS)) as browser:
        return list(browser.map(panel, PANELS))


def spent(http: httpx.Client) -> float:
    body = http.get("/v1/budget").json()
    return round(float(body["epsilon"] - body["epsilon_left"]), 9)


def test_a_page_that_refreshes_costs_its_eight_charges_once(new_client: NewClient) -> None:
    http = new_client(10.0)
    first = refreshed(http)
    for _ in range(6):  # a minute of a ten-second refresh, within a day, which is the grain
        again = refreshed(http)
        assert all(panel["cached"] for panel in again)
        assert [panel["rows"] for panel in again] == [panel["rows"] for panel in first]
    assert spent(http) == pytest.approx(len(PANELS) * EPSILON)
    assert len(http.get("/v1/history").json()["charges"]) == len(PANELS)


def recipe(language: str, heading: str) -> str:
    """The first block of a language below a heading."""
    below = RECIPES.partition(f"\n## {heading}\n")[2]
    found = re.search(rf"```{language}\n(.*?)```", below, re.DOTALL)
    assert found is not None, heading
    return found[1]


@pytest.mark.slow
@pytest.mark.parametrize("heading", ["Arrow", "pandas", "polars"])
def test_the_notebook_recipes_run_as_they_are_written(
    heading: str, new_client: NewClient, wire: WireProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = new_client(10.0)
    monkeypatch.setenv("NOISEGATE_URL", wire.http)
    monkeypatch.setenv("SSL_CERT_FILE", str(wire.authority))
    monkeypatch.setenv("NOISEGATE_KEY", http.headers["Authorization"].removeprefix("Bearer "))
    names: dict[str, Any] = {}
    code = recipe("python", "Arrow")
    if heading != "Arrow":
        code += recipe("python", heading)
    try:
        exec(compile(code, "docs", "exec"), names)
    finally:
        names["proxy"].close()  # a notebook keeps it
    frame = names["table"] if heading == "Arrow" else names["frame"]
    assert len(frame) == 25
    assert {"n_name", "customers", "customers_lo", "customers_hi"} <= set(
        frame.column_names if heading == "Arrow" else frame.columns
    )
    assert names["beside"]["charge"]["epsilon"] == 0.5
    assert spent(http) == 0.5


@pytest.mark.slow
def test_the_recipe_of_a_dashboard_at_once_runs_as_it_is_written(
    new_client: NewClient, wire: WireProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = new_client(10.0)
    monkeypatch.setenv("NOISEGATE_URL", wire.http)
    monkeypatch.setenv("SSL_CERT_FILE", str(wire.authority))
    monkeypatch.setenv("NOISEGATE_KEY", http.headers["Authorization"].removeprefix("Bearer "))
    names: dict[str, Any] = {}
    before = spent(http)
    try:
        exec(compile(recipe("python", "Arrow"), "docs", "exec"), names)
        before = spent(http)
        exec(compile(recipe("python", "A dashboard at once"), "docs", "exec"), names)
    finally:
        names["proxy"].close()
    assert [len(rows) for rows in names["rows"]] == [5, 2, 10]
    assert names["board"]["charge"]["epsilon"] == pytest.approx(spent(http) - before) == pytest.approx(0.5, abs=1e-6)
    assert names["price"]["charge"] == names["board"]["charge"]
    assert names["board"]["summary"]["error_of_alone"] < 0.8


def test_the_grafana_recipe_is_a_request_that_gives_rows(new_client: NewClient) -> None:
    query = json.loads(recipe("json", "Grafana"))
    http = new_client(10.0)
    options = query["url_options"]
    headers = {header["key"]: header["value"] for header in options["headers"]}
    assert "Authorization" not in headers, "the key belongs to the data source's secure settings"
    reply = http.request(
        options["method"],
        query["url"].removeprefix("http://127.0.0.1:8432"),
        content=options["data"].encode(),
        headers={**headers, "Content-Type": options["body_content_type"]},
    )
    assert reply.is_success, reply.text
    assert (query["type"], query["parser"]) == ("csv", "backend")
    names = io.StringIO(reply.text).readline().strip().split(",")
    assert {column["selector"] for column in query["columns"]} <= set(names)
