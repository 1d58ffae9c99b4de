"""Apache Superset before the proxy: a database with TLS, datasets, charts, and a dashboard that refreshes all day."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import add_analyst
from tests.e2e.clients.contract import TABLES
from tests.support.proxies import tpch_demonstration
from tests.support.superset import PASSWORD, USER, Superset, is_installed, running_superset
from tests.support.wire_proxy import WireProxy, wire_proxy

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="Apache Superset is not installed (make superset)"),
    pytest.mark.slow,
    pytest.mark.xdist_group("superset"),
]

REFRESHES = 100
EPSILON = 0.5
PAGE_MS = 120_000.0
SCREENSHOTS = Path(".noisegate") / "screenshots"
OPTIONS = f"-c noisegate.epsilon={EPSILON} -c noisegate.empty_rows=on"

ORDERS = """[tables.orders.columns]
o_orderdate = { range = [1992-01-01, 1998-12-31] }
o_orderstatus = { domain = ["F", "O", "P"] }
"""
JOINED = "FROM customer JOIN nation ON c_nationkey = n_nationkey"
QUERIES = {
    "people": f"SELECT n_name AS nation, c_mktsegment {JOINED}",
    "nations": f"SELECT n_name AS nation, count(*) AS customers {JOINED} GROUP BY n_name",
}
"""Datasets that are queries: one of private rows, whose columns alone Superset may see, and one of an answer."""

YEARS = {"timeGrain": "P1Y", "columnType": "BASE_AXIS", "sqlExpression": "o_orderdate", "expressionType": "SQL"}
LATELY = {"col": "o_orderdate", "op": "TEMPORAL_RANGE", "val": "1994-01-01 : 1996-01-01"}
CUSTOMERS = {
    "expressionType": "SIMPLE",
    "column": {"column_name": "customers", "type": "BIGINT"},
    "aggregate": "SUM",
    "label": "SUM(customers)",
}
REVENUE = {
    "expressionType": "SQL",
    "sqlExpression": "SUM(l_extendedprice * (1 - l_discount))",
    "label": "Revenue after discount",
}


@dataclass(frozen=True)
class Chart:
    """A chart: its dataset, look, query, and what its editor holds.

    Attributes:
      question: charts that ask the same have the same; None: one that is free.
    """

    name: str
    dataset: str
    look: str
    query: Mapping[str, object]
    question: str | None
    form: Mapping[str, object] = field(default_factory=dict)


def _grouped(by: str, **more: object) -> dict[str, object]:
    return {"columns": [by], "metrics": ["count"], "orderby": [["count", False]], **more}


CHARTS = (
    Chart("How many orders", "orders", "big_number_total", {"metrics": ["count"]}, "count", {"metric": "count"}),
    Chart(
        "Orders by status",
        "orders",
        "table",
        _grouped("o_orderstatus"),
        "status",
        {"query_mode": "aggregate", "groupby": ["o_orderstatus"], "metrics": ["count"], "row_limit": 1000},
    ),
    Chart("The two largest", "orders", "pie", _grouped("o_orderstatus", row_limit=2), "status"),
    Chart("Which status", "orders", "table", {"columns": ["o_orderstatus"], "metrics": []}, None),
    Chart(
        "By year",
        "orders",
        "echarts_timeseries_bar",
        {"columns": [{**YEARS, "label": "o_orderdate"}], "metrics": ["count"], "filters": [LATELY]},
        "year",
    ),
    Chart("Revenue", "lineitem", "big_number_total", {"metrics": [REVENUE]}, "revenue", {"metric": REVENUE}),
    Chart(
        "Customers by nation",
        "nations",
        "table",
        {"columns": ["nation", "customers"], "orderby": [["customers", False]]},
        "nation",
        {"query_mode": "raw", "all_columns": ["nation", "customers"], "row_limit": 1000},
    ),
    Chart("Added up again", "nations", "pie", _grouped("nation", metrics=[CUSTOMERS], orderby=[]), "nation"),
    Chart("From a join", "people", "pie", _grouped("nation", row_limit=5), "nation"),
)
TOO_DEAR = Chart("Too dear", "customer", "big_number_total", {"metrics": ["count"]}, "dear", {"metric": "count"})


@pytest.fixture(scope="module")
def proxy(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WireProxy]:
    """A proxy whose policy lets orders be grouped."""
    made = tpch_demonstration(tmp_path_factory.mktemp("wire"), embedded_postgres, tpch_url)
    made.policy.write_text(made.policy.read_text().replace("[tables.orders]\n", ORDERS))
    add_analyst(made, epsilon=1.0)
    with wire_proxy(made, embedded_postgres) as running:
        yield running


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Superset]:
    with running_superset(tmp_path_factory.mktemp("superset")) as running:
        yield running


NewWorkspace = Callable[[float], "Workspace"]


class Workspace:
    """One analyst's database in Superset, and what it cost."""

    def __init__(self, proxy: WireProxy, superset: Superset, epsilon: float) -> None:
        name, self._key = proxy.analyst(epsilon)
        self._proxy = proxy
        self._superset = superset
        uri = f"postgresql+psycopg2://{name}:{self._key}@localhost:{proxy.port}/demo"
        self.database = superset.database(name, uri, proxy.authority, OPTIONS)
        self._datasets: dict[str, int] = {}

    def dataset(self, name: str) -> int:
        """A table, or one of QUERIES, once."""
        if name not in self._datasets:
            self._datasets[name] = self._superset.dataset(self.database, name, QUERIES.get(name))
        return self._datasets[name]

    def add(self, chart: Chart) -> int:
        number = self.dataset(chart.dataset)
        return self._superset.chart(number, chart.name, chart.look, chart.form, chart.query)

    def forget(self) -> None:
        """Remove the datasets: with SQLite behind it, Superset wants their names unique among all databases."""
        for dataset in self._datasets.values():
            self._superset.http.delete(f"/api/v1/dataset/{dataset}").raise_for_status()

    def _get(self, path: str) -> Any:
        trust = ssl.create_default_context(cafile=self._proxy.authority)
        headers = {"Authorization": f"Bearer {self._key}"}
        return httpx.get(f"{self._proxy.http}/v1/{path}", headers=headers, verify=trust).raise_for_status().json()

    def charges(self) -> list[float]:
        """The epsilon of every charge."""
        return [charge["epsilon"] for charge in self._get("history")["charges"]]

    def left(self) -> float:
        """Epsilon that is left."""
        return float(self._get("budget")["epsilon_left"])


@pytest.fixture
def new_workspace(proxy: WireProxy, superset: Superset) -> Iterator[NewWorkspace]:
    made: list[Workspace] = []

    def make(epsilon: float) -> Workspace:
        made.append(Workspace(proxy, superset, epsilon))
        return made[-1]

    yield make
    for workspace in made:
        workspace.forget()


def test_lists_what_the_policy_lets_people_ask(new_workspace: NewWorkspace, superset: Superset) -> None:
    work = new_workspace(1.0)
    place = f"database/{work.database}"
    assert set(superset.read(f"{place}/schemas/")) == {"information_schema", "public"}
    shown = {table["value"] for table in superset.read(f"{place}/tables/?q=(schema_name:public)")}
    assert shown >= TABLES
    columns = superset.read(f"dataset/{work.dataset('orders')}")["columns"]
    types = {column["column_name"]: column["type"] for column in columns}
    assert types["o_orderdate"] == "DATE"
    assert types["o_orderkey"] == "BIGINT"
    assert work.left() == 1.0


def test_a_dashboard_that_refreshes_all_day_is_charged_once_per_question(
    new_workspace: NewWorkspace, superset: Superset
) -> None:
    work = new_workspace(10.0)
    numbers = {work.add(chart): chart.name for chart in CHARTS}
    dashboard = superset.dashboard("Orders", numbers)
    assert {chart["slice_name"] for chart in superset.read(f"dashboard/{dashboard}/charts")} == set(numbers.values())

    def data(chart: int) -> list[dict[str, object]]:
        reply = superset.refreshed(chart)
        assert reply.is_success, f"{numbers[chart]}: {reply.text}"
        (result,) = reply.json()["result"]
        assert not result["is_cached"], "Superset asked again"
        rows: list[dict[str, object]] = result["data"]
        return rows

    with ThreadPoolExecutor(4) as browser:
        first = list(browser.map(data, numbers))
        assert all(first)
        for _ in range(REFRESHES - 1):
            assert list(browser.map(data, numbers)) == first
    questions = {chart.question for chart in CHARTS} - {None}
    assert work.charges() == [EPSILON] * len(questions)
    assert work.left() == 10.0 - EPSILON * len(questions)


def test_an_exhausted_budget_and_a_refused_question_are_told_in_words(
    new_workspace: NewWorkspace, superset: Superset
) -> None:
    work = new_workspace(EPSILON / 2)
    reply = superset.refreshed(work.add(TOO_DEAR))
    assert reply.status_code == 400
    assert "asks for epsilon 0.5, but only epsilon 0.25 is left" in reply.json()["message"]
    (told,) = superset.asked(work.database, "SELECT max(c_acctbal) FROM customer").json()["errors"]
    assert "MAX is not supported" in told["message"]
    assert "one person decides a maximum" in told["message"]
    assert work.charges() == []


def test_sql_lab_asks_questions(new_workspace: NewWorkspace, superset: Superset) -> None:
    work = new_workspace(1.0)
    reply = superset.asked(
        work.database, "SELECT o_orderstatus, count(*) AS n FROM orders GROUP BY 1 ORDER BY 2 DESC;"
    )
    assert reply.is_success, reply.text
    assert [row["o_orderstatus"] for row in reply.json()["data"]][-1] == "P"
    assert work.charges() == [EPSILON]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian's package chromium)")
def test_a_browser_shows_the_dashboard(new_workspace: NewWorkspace, superset: Superset) -> None:
    """The page writes its queries itself, a little otherwise than the API: they are the same questions."""
    work, poor = new_workspace(10.0), new_workspace(EPSILON / 2)
    charts = [chart for chart in CHARTS if chart.form]
    numbers = {work.add(chart): chart.name for chart in charts}
    numbers[poor.add(TOO_DEAR)] = TOO_DEAR.name
    dashboard = superset.dashboard("For people", numbers)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1300, "height": 2600})
        page.set_default_timeout(PAGE_MS)
        page.goto(f"{superset.address}/login/")
        page.get_by_label("Username").fill(USER)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/welcome/**")
        page.goto(f"{superset.address}/superset/dashboard/{dashboard}/")
        expect(page.get_by_text("VIETNAM")).to_be_visible(timeout=PAGE_MS)
        expect(page.get_by_text("only epsilon 0.25 is left")).to_be_visible(timeout=PAGE_MS)
        before = page.get_by_role("table").all_inner_texts()
        page.get_by_label("Menu actions trigger").click()
        with page.expect_response(lambda reply: "force=true" in reply.url and reply.ok):
            page.get_by_text("Refresh dashboard").click()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_text("VIETNAM")).to_be_visible(timeout=PAGE_MS)
        assert page.get_by_role("table").all_inner_texts() == before
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "superset.png")
        chromium.close()
    assert work.charges() == [EPSILON] * len({chart.question for chart in charts})
    assert poor.charges() == []
