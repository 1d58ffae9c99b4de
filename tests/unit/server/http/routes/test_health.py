from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from importlib.metadata import version
from typing import Any

import httpx

from server.http.app import create_app
from server.ledger.analyst import key_hash
from server.query import Explanation, QueryRequest, QueryResponse
from tests.unit.server.http.fakes import (
    AUTHORIZED,
    FakeKeys,
    FakePipeline,
    answer,
    client,
    explanation,
    send,
)


def test_health_needs_no_key() -> None:
    response = send("GET", "/health", authorized=False)
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "version": version("noisegate")}


def test_a_monitor_may_ask_for_the_head_alone() -> None:
    for path in ("/health", "/ready"):
        head, whole = (send(method, path, authorized=False) for method in ("HEAD", "GET"))
        assert (head.status_code, head.headers["content-type"]) == (200, whole.headers["content-type"]), path


def test_health_answers_while_every_thread_is_taken() -> None:
    finish = threading.Event()

    def slow_answer(request: QueryRequest) -> QueryResponse:
        finish.wait(60)
        return answer(request)

    def slow_explanation(request: QueryRequest) -> Explanation:
        finish.wait(60)
        return explanation(request)

    async def exchange() -> None:
        pipeline = FakePipeline(answering=slow_answer, explaining=slow_explanation)
        app = create_app(pipeline, FakeKeys().custody(), running_queries=4, waiting_queries=8)
        async with client(app) as admission:
            posts = [
                asyncio.create_task(admission.post(path, json={"sql": "SELECT 1"}, headers=AUTHORIZED))
                for path in ("/v1/query", "/v1/explain")
                for _ in range(6)
            ]
            while len(pipeline.asked) < 3:
                await asyncio.sleep(0.01)
            for _ in range(21):
                assert (await admission.get("/health")).status_code == 200
            assert not any(post.done() for post in posts)
            finish.set()
            assert [(await post).status_code for post in posts] == [200] * len(posts)

    asyncio.run(exchange())


def test_who_asks_whether_it_is_ready_takes_no_thread_from_others() -> None:
    """A database that is away makes each look take seconds, and anybody may ask for one."""
    finish = threading.Event()

    class Away(FakePipeline):
        def check_ready(self) -> None:
            finish.wait(60)

    async def exchange() -> int:
        async with client(create_app(Away(), FakeKeys().custody())) as admission:
            looks = [asyncio.create_task(admission.get("/ready")) for _ in range(20)]
            await asyncio.sleep(0.1)
            try:
                return (await asyncio.wait_for(admission.get("/v1/budget", headers=AUTHORIZED), 60)).status_code
            finally:
                finish.set()
                await asyncio.gather(*looks)

    assert asyncio.run(exchange()) == 200


def test_one_analysts_explanations_do_not_keep_anothers_waiting() -> None:
    finish = threading.Event()

    class Two(FakeKeys):
        def analyst_by_key(self, key_hash_: str) -> str | None:
            return {key_hash("ng_ada"): "ada", key_hash("ng_bob"): "bob"}.get(key_hash_)

    def slow(request: QueryRequest) -> Explanation:
        assert request.analyst == "bob" or finish.wait(60)
        return explanation(request)

    async def exchange() -> int:
        async with client(create_app(FakePipeline(explaining=slow), Two().custody())) as admission:

            def explain(analyst: str) -> Coroutine[Any, Any, httpx.Response]:
                headers = {"Authorization": f"Bearer ng_{analyst}"}
                return admission.post("/v1/explain", json={"sql": "SELECT 1"}, headers=headers)

            many = [asyncio.create_task(explain("ada")) for _ in range(10)]
            await asyncio.sleep(0.1)
            try:
                return (await asyncio.wait_for(explain("bob"), 60)).status_code
            finally:
                finish.set()
                await asyncio.gather(*many)

    assert asyncio.run(exchange()) == 200
