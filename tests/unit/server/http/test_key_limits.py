from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from server.errors import RateLimited
from server.http.app import create_app
from server.http.services import KeyLimits, Rate
from server.query import QueryRequest, QueryResponse
from tests.unit.server.http.fakes import AUTHORIZED, FakeKeys, FakePipeline, answer, assert_problem, client

NOW = 100.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_a_burst_and_fills_at_its_rate() -> None:
    clock = Clock()
    limits = KeyLimits(Rate(per_second=0.5, burst=3, open=10), clock)
    for _ in range(3):
        limits.enter("ada")()
    with pytest.raises(RateLimited) as refused:
        limits.enter("ada")
    assert refused.value.retry_after_s == 2
    clock.now += 1.9
    with pytest.raises(RateLimited):
        limits.enter("ada")
    clock.now += 0.2
    limits.enter("ada")()
    clock.now += 1000.0
    for _ in range(3):
        limits.enter("ada")()
    with pytest.raises(RateLimited):  # a long pause does not save up more than a burst
        limits.enter("ada")


def test_each_holder_has_a_bucket_of_their_own() -> None:
    limits = KeyLimits(Rate(per_second=1, burst=1, open=1), Clock())
    limits.enter("ada")
    limits.enter("grace")


def test_what_is_answered_makes_room() -> None:
    limits = KeyLimits(Rate(per_second=100, burst=100, open=2), Clock())
    leave = limits.enter("ada")
    limits.enter("ada")
    with pytest.raises(RateLimited):
        limits.enter("ada")
    leave()
    limits.enter("ada")


def test_over_http_it_says_when_to_come_back() -> None:
    async def exchange() -> list[httpx.Response]:
        app = create_app(FakePipeline(), FakeKeys().custody(), rate=Rate(per_second=0.1, burst=2))
        async with client(app) as admission:
            return [await admission.get("/v1/budget", headers=AUTHORIZED) for _ in range(3)] + [
                await admission.get("/health")
            ]

    first, second, third, health = asyncio.run(exchange())
    assert (first.status_code, second.status_code, health.status_code) == (200, 200, 200)
    body = assert_problem(third, 429, "53400")
    assert 9 <= int(third.headers["retry-after"]) <= 10
    assert "nothing was charged" in body["hint"]


def test_one_key_has_so_many_requests_open_and_gets_the_place_back() -> None:
    finish = threading.Event()

    def slow(request: QueryRequest) -> QueryResponse:
        finish.wait(60)
        return answer(request)

    async def exchange() -> None:
        pipeline = FakePipeline(answering=slow)
        app = create_app(pipeline, FakeKeys().custody(), rate=Rate(open=2))
        async with client(app) as admission:
            posts = [
                asyncio.create_task(admission.post("/v1/query", json={"sql": "SELECT 1"}, headers=AUTHORIZED))
                for _ in range(2)
            ]
            while len(pipeline.asked) < 2:
                await asyncio.sleep(0.01)
            assert_problem(await admission.get("/v1/budget", headers=AUTHORIZED), 429, "53400")
            finish.set()
            assert [(await post).status_code for post in posts] == [200, 200]
            assert (await admission.get("/v1/budget", headers=AUTHORIZED)).status_code == 200

    asyncio.run(exchange())
