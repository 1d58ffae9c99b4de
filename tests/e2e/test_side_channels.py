"""The attack on durations: is one person's secret read from how long a join takes, end to end?

The join explodes for one person and only where that person's balance is negative. `told` counts what the analyst can
tell apart: durations to a twentieth of a second, each with the answer's status.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from planner.plan import AnswerTimes
from server.backends.embedded import EmbeddedPostgres
from tests.support.proxies import asked_proxy, tpch_demonstration

EXPLODES = (
    "SELECT count(*) FROM customer a CROSS JOIN lineitem v CROSS JOIN region w CROSS JOIN region x "
    "WHERE a.c_custkey = {} AND a.c_acctbal < 0"
)
QUANTUM_S = 4.0
"""Longer than the join takes, for one person or for nobody, on a busy machine."""

PEOPLE = 4


@contextmanager
def _attacked(folder: Path, server: EmbeddedPostgres, url: str, settings: str) -> Iterator[httpx.Client]:
    demonstration = tpch_demonstration(folder, server, url, settings)
    assert "max_epsilon = 4.0" in demonstration.policy.read_text()
    with asked_proxy(demonstration, epsilon=1000.0) as http:
        yield http


def _people(owner_url: str) -> list[tuple[int, bool]]:
    """Some people, with their secret."""
    with psycopg.connect(owner_url) as connection:
        rows = connection.execute(
            "(SELECT c_custkey, true FROM customer WHERE c_acctbal < 0 ORDER BY 1 LIMIT %(n)s) UNION ALL "
            "(SELECT c_custkey, false FROM customer WHERE c_acctbal >= 0 ORDER BY 1 LIMIT %(n)s)",
            {"n": PEOPLE},
        ).fetchall()
    return [(int(key), bool(secret)) for key, secret in rows]


def _asked(http: httpx.Client, key: int) -> tuple[float, int]:
    begun = time.perf_counter()
    reply = http.post("/v1/query", json={"sql": EXPLODES.format(key), "epsilon": 4.0}, timeout=120.0)
    return time.perf_counter() - begun, reply.status_code


def test_by_default_the_join_is_refused_and_costs_nothing(new_client: Callable[..., httpx.Client]) -> None:
    http = new_client(1000.0)
    reply = http.post("/v1/query", json={"sql": EXPLODES.format(1)})
    assert reply.status_code in (400, 422)
    assert "unbounded_joins" in reply.json()["hint"]
    assert http.get("/v1/budget").json()["epsilon_left"] == 1000.0


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("quantum_s", [0.0, QUANTUM_S], ids=["as soon as it is there", "held"])
def test_durations_tell_the_secret_unless_they_are_held(
    tmp_path: Path,
    embedded_postgres: EmbeddedPostgres,
    tpch_url: str,
    tpch_owner_url: str,
    quantum_s: float,
) -> None:
    settings = f"unbounded_joins = true\nanswer_quantum = {quantum_s}"
    people = _people(tpch_owner_url)
    with _attacked(tmp_path, embedded_postgres, tpch_url, settings) as http:
        cheap = http.post("/v1/query", json={"sql": EXPLODES.format(1), "epsilon": 0.5})
        assert cheap.status_code in (400, 422), "such a question has its price"
        for key in (people.pop()[0], people.pop(0)[0]):
            _asked(http, key)  # the kernels are compiled, and both kinds are warm
        asked = [(_asked(http, key), secret) for key, secret in people]
    having = [took for (took, _), secret in asked if secret]
    lacking = [took for (took, _), secret in asked if not secret]
    told = {(round(took * 20), status) for (took, status), _ in asked}
    print(f"quantum {quantum_s:g} s: {having} s with the secret, {lacking} s without; {len(told)} told apart")
    if not quantum_s:
        assert min(having) > max(lacking), "the attack reads the secret: this is what holding is against"
        return
    for took in (*having, *lacking):
        moment = max(quantum_s * 2**place for place in range(5) if quantum_s * 2**place <= took)
        assert took - moment < quantum_s / 4, "an answer leaves at a moment of the ladder alone"
    assert (
        len({int(took / quantum_s).bit_length() for took in (*having, *lacking)}) <= AnswerTimes(quantum_s).outcomes
    )
