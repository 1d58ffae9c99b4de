from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from starlette.routing import Route

from server.http.app import create_app
from server.ledger.analyst import key_hash, new_key
from server.ledger.sqlite import create_ledger
from server.query import QueryRequest, QueryResponse
from tests.unit.server.http.fakes import AUTHORIZED, FakeKeys, FakePipeline, answer, assert_problem, client, send

SECURITY = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


def test_every_response_carries_the_security_headers() -> None:
    for path in ["/health", "/nowhere", "/v1/budget", "/openapi.json"]:
        headers = send("GET", path, authorized=False).headers
        assert {name: headers[name] for name in SECURITY} == SECURITY, path


def test_an_unknown_path_is_a_problem() -> None:
    for path in [
        "/console/",
        "/nowhere",
        "/docs",
        "/redoc",
        "/v1/query/",
        "/health/",
        "/v1",
        "/%00",
        "/../x",
        "/v1/budget/ada",
    ]:
        assert_problem(send("GET", path), 404, "08P01")


def test_a_wrong_method_is_a_problem_that_names_the_right_one() -> None:
    response = send("GET", "/v1/query")
    assert_problem(response, 405, "08P01")
    assert response.headers["allow"] == "POST"


def test_a_real_ledger_knows_its_analysts(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    key = new_key()
    ledger.add_analyst("ada", key_hash(key), 1.0, 0.0)

    async def exchange() -> tuple[int, int]:
        async with client(create_app(FakePipeline(), ledger)) as admission:
            right = await admission.get("/v1/budget", headers={"Authorization": f"Bearer {key}"})
            wrong = await admission.get("/v1/budget", headers={"Authorization": f"Bearer {new_key()}"})
            return right.status_code, wrong.status_code

    assert asyncio.run(exchange()) == (200, 401)
    ledger.close()


def test_the_queue_of_queries_is_bounded() -> None:
    """Four places, of which one analyst has half."""
    finish = threading.Event()

    def slow(request: QueryRequest) -> QueryResponse:
        finish.wait(60)
        return answer(request)

    async def exchange() -> None:
        pipeline = FakePipeline(answering=slow)
        async with client(
            create_app(pipeline, FakeKeys().custody(), running_queries=2, waiting_queries=2)
        ) as admission:

            async def ask() -> int:
                return (await admission.post("/v1/query", json={"sql": "SELECT 1"}, headers=AUTHORIZED)).status_code

            posts = [asyncio.create_task(ask()) for _ in range(4)]
            while (sum(post.done() for post in posts), len(pipeline.asked)) != (2, 1):
                await asyncio.sleep(0.01)
            finish.set()
            assert sorted([await post for post in posts]) == [200, 200, 429, 429]

    asyncio.run(exchange())


def test_a_body_that_is_not_sent_as_json_is_told_the_header_to_send() -> None:
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application", ""]:
        response = send(
            "POST", "/v1/query", content=b'{"sql": "SELECT count(*) FROM a"}', headers={"Content-Type": kind}
        )
        said = assert_problem(response, 422, "08P01")
        assert said["hint"] == "Send the header Content-Type: application/json.", kind


def test_a_body_that_is_sent_as_json_is_read() -> None:
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"]:
        response = send(
            "POST", "/v1/query", content=b'{"sql": "SELECT count(*) FROM a"}', headers={"Content-Type": kind}
        )
        assert response.status_code == 200, kind


def test_applications_share_routes_and_nothing_that_they_answer_with() -> None:
    pipelines = FakePipeline(), FakePipeline()
    for pipeline in pipelines:
        assert send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1"}).status_code == 200
    assert [len(pipeline.asked) for pipeline in pipelines] == [1, 1]
    apps = [create_app(pipeline, FakeKeys().custody()) for pipeline in pipelines]
    first, second = ([route for route in app.router.routes if not isinstance(route, Route)] for app in apps)
    assert first and all(one is other for one, other in zip(first, second, strict=True))
    assert apps[0].state.services is not apps[1].state.services
