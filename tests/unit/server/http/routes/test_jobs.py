from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from structlog.testing import capture_logs

from server.answers.work import Work
from server.errors import BudgetExhausted, CancelledByClient
from server.http.app import create_app
from server.http.routes.query import preferred_wait
from server.ledger.analyst import key_hash
from server.query import QueryRequest, QueryResponse
from tests.unit.server.http.fakes import (
    AUTHORIZED,
    FakeKeys,
    FakePipeline,
    answer,
    assert_problem,
    client,
    raising,
    send,
)

ASYNC = {**AUTHORIZED, "Prefer": "respond-async"}
QUESTION = {"sql": "SELECT 1"}
EVE = {"Authorization": "Bearer ng_eve"}


class Slow(FakePipeline):
    """Answers once it is let, or fails once it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        assert cancelled is not None
        self.asked.append(request)
        while not self.free.wait(0.01):
            if cancelled.is_set():
                raise CancelledByClient("you cancelled it", hint="the charge stands")
        return answer(request)


class TwoKeys(FakeKeys):
    def analyst_by_key(self, key_hash_: str) -> str | None:
        return "eve" if key_hash_ == key_hash("ng_eve") else super().analyst_by_key(key_hash_)


def served(pipeline: FakePipeline, talk: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def exchange() -> None:
        async with client(create_app(pipeline, TwoKeys().custody())) as http:
            await talk(http)

    asyncio.run(exchange())


async def done(http: httpx.AsyncClient, place: str) -> None:
    while (await http.get(place, headers=AUTHORIZED)).json()["state"] != "done":
        await asyncio.sleep(0.01)


async def started(http: httpx.AsyncClient) -> str:
    response = await http.post("/v1/query", json=QUESTION, headers=ASYNC)
    assert response.status_code == 202
    assert response.headers["preference-applied"] == "respond-async"
    assert response.json()["state"] == "running"
    place = response.headers["location"]
    assert place == f"/v1/jobs/{response.json()['id']}"
    return str(place)


def test_a_job_runs_and_its_result_is_fetched_once() -> None:
    pipeline = Slow()

    async def talk(http: httpx.AsyncClient) -> None:
        place = await started(http)
        assert_problem(await http.get(f"{place}/result", headers=AUTHORIZED), 409, "55000")
        pipeline.free.set()
        await done(http, place)
        result = await http.get(f"{place}/result", headers=AUTHORIZED)
        assert result.json()["rows"][0] == ["FRANCE", -3, 5.0]
        assert_problem(await http.get(f"{place}/result", headers=AUTHORIZED), 404, "42704")

    served(pipeline, talk)


def test_other_peoples_jobs_are_not_there() -> None:
    pipeline = Slow()

    async def talk(http: httpx.AsyncClient) -> None:
        place = await started(http)
        for method, path in (("GET", place), ("GET", f"{place}/result"), ("DELETE", place)):
            assert_problem(await http.request(method, path, headers=EVE), 404, "42704")
        assert (await http.get(place, headers=AUTHORIZED)).json()["state"] == "running"
        pipeline.free.set()
        await done(http, place)

    served(pipeline, talk)


def test_a_job_is_cancelled_and_its_result_says_so() -> None:
    async def talk(http: httpx.AsyncClient) -> None:
        place = await started(http)
        assert (await http.delete(place, headers=AUTHORIZED)).status_code == 204
        await done(http, place)
        body = assert_problem(await http.get(f"{place}/result", headers=AUTHORIZED), 504, "57014")
        assert body["hint"] == "the charge stands"

    served(Slow(), talk)


def test_a_form_that_there_is_not_leaves_the_result_to_be_fetched() -> None:
    pipeline = Slow()

    async def talk(http: httpx.AsyncClient) -> None:
        place = await started(http)
        pipeline.free.set()
        await done(http, place)
        refused = await http.get(f"{place}/result", headers={**AUTHORIZED, "Accept": "image/png"})
        assert_problem(refused, 406, "08P01")
        as_csv = await http.get(f"{place}/result", headers={**AUTHORIZED, "Accept": "text/csv"})
        assert as_csv.text.startswith("nation,count,")

    served(pipeline, talk)


def test_who_can_wait_gets_the_answer_at_once() -> None:
    headers = {"Prefer": "respond-async, wait=5"}
    assert send("POST", "/v1/query", json=QUESTION, headers=headers).status_code == 200
    exhausted = raising(BudgetExhausted("nothing is left"))
    assert_problem(send("POST", "/v1/query", pipeline=exhausted, json=QUESTION, headers=headers), 403, "PD001")


def test_a_name_that_is_none_is_refused() -> None:
    for name in ["x" * 65, "a.b", "%20"]:
        assert_problem(send("GET", f"/v1/jobs/{name}"), 422, "08P01")


def test_a_preference_is_read() -> None:
    cases: list[tuple[str | None, float | None]] = [
        (None, None),
        ("return=minimal", None),
        ("respond-async", 0.0),
        ("respond-async; wait=3", 3.0),
        ("wait=7, respond-async", 7.0),
        ("respond-async, wait=999", 30.0),
        ("respond-async, wait=soon", 0.0),
    ]
    for prefer, wait in cases:
        assert preferred_wait(prefer) == wait, prefer


def test_jobs_need_a_key() -> None:
    bodies: list[dict[str, Any]] = [
        assert_problem(send(method, "/v1/jobs/x", authorized=False), 401, "28P01") for method in ("GET", "DELETE")
    ]
    assert all(body["hint"] for body in bodies)


def test_who_fetches_nothing_is_told_that_these_are_the_own() -> None:
    async def talk(http: httpx.AsyncClient) -> None:
        for _ in range(16):
            assert (await http.post("/v1/query", json=QUESTION, headers=ASYNC)).status_code == 202
        assert_problem(await http.post("/v1/query", json=QUESTION, headers=ASYNC), 429, "53400")
        assert (await http.post("/v1/query", json=QUESTION, headers={**ASYNC, **EVE})).status_code == 202
        slow.free.set()

    slow = Slow()
    served(slow, talk)


def test_looking_at_a_job_leaves_no_line_in_the_log() -> None:
    """Clients look several times a second; what begins, ends or is refused has its line."""
    pipeline = Slow()

    async def talk(http: httpx.AsyncClient) -> None:
        begun = await http.post("/v1/query", json=QUESTION, headers=ASYNC)
        where = begun.headers["Location"]
        for _ in range(5):
            assert (await http.get(where, headers=AUTHORIZED)).status_code == 200
        assert (await http.get(where, headers=EVE)).status_code == 404
        await http.delete(where, headers=AUTHORIZED)

    with capture_logs() as logs:
        served(pipeline, talk)
    lines = [(line["log_level"], line["method"], line["status"]) for line in logs if line["event"] == "request"]
    assert [line for line in lines if line[0] == "info"] == [
        ("info", "POST", 202), ("info", "GET", 404), ("info", "DELETE", 204)
    ]  # fmt: skip
    assert lines.count(("debug", "GET", 200)) == 5
