"""A remembered explanation is the one that would be made again, whatever was asked, loaded or added meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from server.answers.explained import Explaining
from server.backends.columns import Domain
from server.explain.explanation_text import _shown, explanation_answer
from server.lru_cache import LruCache
from server.planning import Planning
from server.query import Budget, QueryRequest
from server.question import Question
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.growing_clinic import GrowingClinic, growing_clinic
from tests.support.seeds import examples

FIRST_LOAD = date(2026, 4, 20)
LOADS = examples(2, 12)
COUNT = "SELECT count(*) AS n FROM visit WHERE admitted_at < DATE '2026-07-01'"
RENAMED, SUM = COUNT.replace("AS n", "AS m"), COUNT.replace("count(*)", "sum(cost)")
FLOORS = "SELECT floor, count(*) AS n FROM visit v JOIN ward w ON v.ward = w.name GROUP BY floor"


@pytest.fixture
def clinic(tmp_path: Path, workers: WorkerPool) -> Iterator[GrowingClinic]:
    """Visits of three years, and a ledger that lasts."""
    with growing_clinic(tmp_path, "duckdb", workers, range_from="2023-01-01") as made:
        made.admit("2023-01-03", 1203, patients=4)
        assert made.note(str(FIRST_LOAD))
        yield made


class Without(LruCache[tuple[object, ...], Any]):
    """A mutant: it overlooks one part of its keys."""

    def __init__(self, place: int) -> None:
        super().__init__(256)
        self._place = place

    def _short(self, key: tuple[object, ...]) -> tuple[object, ...]:
        return (*key[: self._place], *key[self._place + 1 :])

    def get(self, key: tuple[object, ...]) -> Any:
        """What was put under a key that differs in nothing else."""
        return super().get(self._short(key))

    def put(self, key: tuple[object, ...], value: Any) -> Any:
        """Remember it under the rest of its key."""
        return super().put(self._short(key), value)


def _differences(clinic: GrowingClinic, **mutant: LruCache[tuple[object, ...], Any]) -> int:
    """How many explanations of a history are not what they would be without a memory; of a mutant, the first one."""
    draw, found, floors = random.Random(3), 0, [1, 2]
    remembering = Explaining(clinic.pipeline().deciding, **mutant)

    def groups_of(planning: Planning, question: Question, *_: object) -> Domain:
        return Domain((tuple(floors),)) if question.plan.group_keys else Domain(())

    for load in range(LOADS):
        pipeline = clinic.pipeline()
        remembering = replace(remembering, deciding=pipeline.deciding)
        asked = [
            QueryRequest(analyst, COUNT, epsilon=epsilon) for analyst in ("ada", "bob") for epsilon in (6.0, 40.0)
        ]
        for request in draw.sample(asked, len(asked)):
            floors.append(len(floors) + 1)
            for sql, one in product((COUNT, RENAMED, SUM, FLOORS), asked):
                with patch.object(Planning, "groups_of", groups_of):
                    told = remembering.explain(replace(one, sql=sql))
                    again = Explaining(pipeline.deciding).explain(replace(one, sql=sql))
                found += told != again
                shown = explanation_answer(again, "text", Budget(1.0, 0.0, 1.0, 0.0), "r").rows
                assert [line for (line,) in shown] == list(_shown(again, "text"))
            if mutant and found:
                return found
            ask(pipeline, replace(request, request_id="r"))
        day = FIRST_LOAD + timedelta(days=load)
        clinic.admit(str(day), 1, start=1_000_000 + 1_000 * load)
        clinic.bump(str(day + timedelta(days=1)))
    return found


def test_it_is_the_same_as_without_a_memory(clinic: GrowingClinic) -> None:
    assert _differences(clinic) == 0


@pytest.mark.parametrize(
    ("memory", "place"),
    [
        pytest.param("told", 0, id="the question"),
        pytest.param("told", 2, id="the number of groups"),
        pytest.param("told", 5, id="the days of earlier answers"),
        pytest.param("likely", 0, id="the question of a prediction"),
        pytest.param("likely", 2, id="the earlier answer"),
    ],
)
def test_a_memory_that_overlooks_something_is_caught(clinic: GrowingClinic, memory: str, place: int) -> None:
    assert _differences(clinic, **{memory: Without(place)})
