"""Whatever happens to analysts, policy, data and time: a repeated answer has the bytes that its route would write.

Two applications serve one ledger file, as two proxies do. One repeats answers. The other reads the ledger for each of
them, and remembers nothing of it. What the pipelines find, for every protocol, is compared as well.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from server.answers import decide
from server.answers.work import Cached, Work
from server.http import repeated
from server.http.app import create_app
from server.http.repeated import RepeatedAnswers
from server.http.services import Rate
from server.ledger import ledger as ledgers
from server.ledger.account import Grant
from server.ledger.analyst import Act, Credentials, key_hash, new_key
from server.ledger.ledger import Ledger
from server.ledger.sqlite import SqliteStore, create_ledger, open_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.reloadable_pipeline import ReloadablePipeline
from tests.support.backends import FailingBackend
from tests.support.planning import demo_policy
from tests.support.seeds import SEED, examples
from tests.support.tpch_schema import tpch_schema

_ACT = Act("test")
_QUESTIONS = (
    "SELECT count(*) FROM orders",
    "SELECT count(*) FROM orders WHERE o_orderdate < current_date",
)
_HEADERS: list[dict[str, str]] = [*[{}] * 5, {"accept": "text/csv"}, {"idempotency-key": "once"}]
_SETTINGS: list[dict[str, object]] = [*[{}] * 5, {"epsilon": 0.5}, {"reuse": "only"}]
_BODY = {"sql": _QUESTIONS[0]}
_STEPS = 30
_UNLIMITED = Rate(per_second=1e9, burst=1e9)
_MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


class _Inline:
    """Workers that run a call in this process."""

    def call(self, function: Callable[..., Any], *given: Any, begin: Callable[[], None], **_: object) -> Any:
        begin()
        return function(*given)


@dataclass
class World:
    """Two applications over one ledger, and everything that an answer depends on.

    Attributes:
      ledgers: of the application that repeats, and of the other.
      repeats: how often the bytes were those of before.
    """

    folder: Path
    ledgers: tuple[Ledger, Ledger]
    now: datetime
    keys: list[str]
    repeating: httpx.AsyncClient = field(init=False)
    plain: httpx.AsyncClient = field(init=False)
    pipelines: list[ReloadablePipeline] = field(default_factory=list)
    epsilon: float = 1.0
    requests: int = 0
    repeats: int = 0

    def open(self, monkeypatch: pytest.MonkeyPatch, rate: Rate = _UNLIMITED) -> tuple[FastAPI, FastAPI]:
        def find(one: RepeatedAnswers, *given: Any) -> Any:
            found = _FIND(one, *given)
            self.repeats += found is not None
            return found

        monkeypatch.setattr(RepeatedAnswers, "find", find)
        first = self._app(self.ledgers[0], rate)
        monkeypatch.setattr(RepeatedAnswers, "find", lambda *_: None)
        second = self._app(self.ledgers[1], rate)
        self.repeating, self.plain = map(_client, (first, second))
        return first, second

    def _app(self, ledger: Ledger, rate: Rate) -> FastAPI:
        pipeline = ReloadablePipeline(self._pipeline(ledger), lambda *_: (self._pipeline(ledger), ()))
        self.pipelines.append(pipeline)
        app = create_app(pipeline, ledger, rate=rate)
        app.middleware_stack = app.build_middleware_stack()  # bound to the find of this moment
        return app

    def _pipeline(self, ledger: Ledger) -> Pipeline:
        backend = FailingBackend(self.folder / "reads")
        policy = replace(demo_policy(), epsilon=self.epsilon, time_grain="day")
        workers: Any = _Inline()
        return Pipeline(policy, tpch_schema(), backend, ledger, workers, clock=lambda: self.now)

    async def ask(self, rng: random.Random) -> None:
        """Ask both twice. What the first one repeats is what the other answers."""
        self.requests += 1
        headers = {"x-request-id": f"request-{self.requests}", "authorization": f"Bearer {rng.choice(self.keys)}"}
        headers |= rng.choice(_HEADERS)
        body = {"sql": rng.choice(_QUESTIONS), **rng.choice(_SETTINGS)}
        for _ in range(2):
            before = self.repeats
            one, other = [await _answered(client, headers, body) for client in (self.repeating, self.plain)]
            assert self.repeats == before or one == other
        for analyst in ("ada", "bob"):
            request = QueryRequest(analyst, str(body["sql"]))
            found = self.pipelines[0].current.find_planned(request)
            assert found is None or _paid(found) == _paid(self.pipelines[1].current.find(request))

    def change(self, rng: random.Random) -> None:
        """Change one thing, by either proxy."""
        ledger, analyst = rng.choice(self.ledgers), rng.choice(("ada", "bob"))
        match rng.randrange(8):
            case 0:
                ledger.set_enabled(analyst, rng.random() < 0.7, _ACT)
            case 1:
                self.keys.append(new_key())  # clients go on to show the old one
                ledger.set_credentials(analyst, Credentials(key_hash(self.keys[-1])), _ACT)
            case 2:
                ledger.set_role(analyst, rng.choice(("analyst", "analyst", "auditor")), _ACT)
            case 3:
                ledger.top_up(analyst, 1.0, 0.0, _ACT)
            case 4:
                ledger.bump_data(_ACT)
            case 5:
                self.epsilon = 1.5 - self.epsilon
                for one in self.pipelines:
                    one.reload(_ACT)
            case _:
                self.now += timedelta(hours=rng.choice((2, 25, 25)))


_FIND = RepeatedAnswers.find


def _paid(work: Work) -> object:
    return work.paid if isinstance(work, Cached) else type(work)


def _client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://noisegate.test")


async def _answered(client: httpx.AsyncClient, headers: dict[str, str], body: dict[str, object]) -> object:
    """Everything that a client and an administrator see."""
    with capture_logs() as logged:
        response = await client.post("/v1/query", headers=headers, json=body)
    lines = [{**line, "duration_ms": 0} for line in logged]
    return response.status_code, sorted(response.headers.multi_items()), response.content, lines


@contextmanager
def _world(folder: Path) -> Iterator[World]:
    world = World(folder, cast("tuple[Ledger, Ledger]", ()), _MIDNIGHT, [new_key(), new_key()])
    paths, clock = (folder / "ledger.sqlite", folder / "ledger.json"), lambda: world.now.timestamp()
    first = create_ledger(*paths, clock)
    second = open_ledger(*paths, clock)
    second._store.state = lambda: None  # type: ignore[method-assign]  # it reads everything each time
    world.ledgers = first, second
    for name, key, window_s in (("ada", world.keys[0], None), ("bob", world.keys[1], 3_600)):
        first.add_analyst(name, key_hash(key), 50.0, 0.0, act=_ACT, grant=Grant(50.0, window_s=window_s))
    try:
        yield world
    finally:
        first.close()
        second.close()


def _history(folder: Path, example: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check one random history; returns how many answers were repeated."""
    folder.mkdir()
    rng = random.Random(f"{SEED} {example}")
    with monkeypatch.context() as patched, _world(folder) as world:
        apps = world.open(patched)

        async def played() -> None:
            for _ in range(_STEPS):
                if rng.random() < 0.25:
                    world.change(rng)
                await world.ask(rng)

        asyncio.run(played())
        assert len({_counted(app) for app in apps}) == 1
        return world.repeats


def _counted(app: FastAPI) -> frozenset[str]:
    """The routes and outcomes that were counted, and how often; the times of counters apart."""
    lines = app.state.services.metrics.text().decode().splitlines()
    return frozenset(line for line in lines if line.startswith("noisegate_requests_total") and '"none"' not in line)


def test_repeated_answers_are_those_of_the_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeats = 0
    for example in range(examples(4, 60)):
        repeats += _history(tmp_path / str(example), example, monkeypatch)
    assert repeats > examples(4, 60), "else nothing was repeated"


def test_repeated_answers_count_as_requests_of_their_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _world(tmp_path) as world:
        world.open(monkeypatch, Rate(per_second=1e-9, burst=4))
        headers = {"authorization": f"Bearer {world.keys[0]}"}

        async def asked() -> list[int]:
            sent = [await world.repeating.post("/v1/query", headers=headers, json=_BODY) for _ in range(6)]
            return [response.status_code for response in sent]

        assert asyncio.run(asked()) == [200] * 4 + [429] * 2
        assert world.repeats == 2  # the first was measured, the second kept


class _Anything:
    def __ne__(self, other: object) -> bool:
        return False


def _without_budget(body: bytes, analyst: str, budget: object, route: object) -> object:
    return SimpleNamespace(body=body, analyst=analyst, budget=_Anything(), route=route)


_NOW = RepeatedAnswers._now


def _under_the_first_policy(one: RepeatedAnswers) -> tuple[object, object]:
    _, state = _NOW(one)
    return None, state


def _at_one_moment(one: RepeatedAnswers) -> tuple[object, object]:
    pipeline, state = _NOW(one)
    return pipeline, None if state is None else cast("tuple[object, object]", state)[0]


def _of_one_ledger_state(one: RepeatedAnswers) -> tuple[object, object]:
    pipeline, state = _NOW(one)
    return pipeline, None if state is None else cast("tuple[object, object]", state)[1]


_MUTANTS: dict[str, tuple[object, str, object]] = {
    "any key": (repeated, "_key", lambda scope, body: body),
    "any body": (repeated, "_key", lambda scope, body: dict(scope["headers"])[b"authorization"]),
    "the policy does not count": (RepeatedAnswers, "_now", _under_the_first_policy),
    "time does not count": (RepeatedAnswers, "_now", _at_one_moment),
    "the ledger does not count": (RepeatedAnswers, "_now", _of_one_ledger_state),
    "the budget does not count": (repeated, "_Kept", _without_budget),
    "no budget renews": (Ledger, "_own_budget", ledgers._read_once(ledgers._budget_read, lambda found: True)),
    "a found answer keeps its budget": (decide, "replace", lambda value, **_: value),
    "a read lasts": (SqliteStore, "state", lambda store: 1),
}


@pytest.mark.parametrize("mutant", _MUTANTS)
def test_the_property_finds_a_mutant(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*_MUTANTS[mutant])
    with pytest.raises(AssertionError):
        for example in range(30):
            _history(tmp_path / str(example), example, monkeypatch)
