"""LPA, FPA, GS-R, GS-S and GS on a real database: what they read, what one person moves, what is refused."""

from __future__ import annotations

import asyncio
import math
import shutil
from itertools import product
from pathlib import Path

import duckdb
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from planner.errors import InvalidSetting
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import DistinctTuples, JoinTuples
from privacy.papers.key_counts import KeyCounts
from privacy.truncation.encode import encode
from server.backends.duckdb import DuckdbBackend
from server.errors import BudgetExhausted
from server.http.app import create_app
from server.ledger.analyst import key_hash, new_key
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.reloadable_pipeline import ReloadablePipeline
from server.workers.measure import plan_measurements
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.replay_entropy import ConstantEntropy
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import sampled
from tests.support.visits import EMPTY, PEOPLE, PLACES, TABLES, VISITS, answer_visits, plan_visits, visits_policy

NAMES = ("lpa", "fpa", "gs_r", "gs_s", "gs")
PER_PLACE = "SELECT place, count(DISTINCT person) AS people FROM visit GROUP BY place"
PER_TOWN = "SELECT town, count(*) AS people FROM person WHERE town IN ('Aalen', 'Berne', 'Calw') GROUP BY town"
EACH = PEOPLE * VISITS / PLACES
RULE = f"person = {VISITS}"


def answered(backend: DuckdbBackend, sql: str, name: str, **settings: object) -> QueryResponse:
    policy = visits_policy(groups=str(settings.pop("groups", "")))
    plan = plan_visits(backend, policy, sql, mechanism=name, **settings)  # type: ignore[arg-type]
    return answer_visits(backend, policy, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lpa", "gs", *(pytest.param(one, marks=pytest.mark.slow) for one in NAMES[1:4])])
def test_each_is_served_by_name_and_its_intervals_hold(backend: DuckdbBackend, name: str) -> None:
    """375 people at each of 40 places; the rule of five groups leaves nobody out, and makes noise for ten."""
    answer = answered(backend, PER_PLACE, name, groups=RULE)
    assert (answer.mechanism, answer.epsilon, answer.delta) == (name, 4.0, 0.0)
    assert answer.covers == ("clipped value" if name == "lpa" else "smoothed value")
    assert len(answer.rows) == PLACES
    covered = [cell.low <= EACH <= cell.high for _, cell in answer.intervals]  # type: ignore[union-attr, operator]
    assert sum(covered) >= 0.75 * PLACES
    off = [abs(float(row[1]) - EACH) for row in answer.rows]  # type: ignore[arg-type]
    assert sum(off) / PLACES < 40
    assert any("smoothed" in note for note in answer.notes) == (name != "lpa")
    assert any(f"By the policy a privacy unit counts in at most {VISITS} groups" in note for note in answer.notes)
    assert all(answer.clipped)  # that nobody is left out is not public

    of_towns = answered(backend, PER_TOWN, name)
    assert [row[0] for row in of_towns.rows] == ["Aalen", "Berne", "Calw"]
    assert (of_towns.mechanism, of_towns.covers) == (name, "truth" if name == "lpa" else "smoothed value")
    for (_, cell), truth in zip(of_towns.intervals, (2000, 900, 80), strict=True):
        assert cell is not None and cell.low is not None and cell.high is not None
        assert cell.low - 20 <= truth <= cell.high + 20

    found = answered(backend, "SELECT town, count(DISTINCT id) FROM person GROUP BY town", name)
    assert [row[0] for row in found.rows] == ["Aalen", "Berne", "Calw"]  # not the town of one person
    assert (found.mechanism, found.delta) == (f"{name}, group_threshold", 1e-6)


@pytest.mark.slow
def test_what_is_no_count_of_people_by_key_is_refused(backend: DuckdbBackend, subtests: pytest.Subtests) -> None:
    refusals: list[tuple[str, dict[str, float], str, str]] = [
        ("SELECT place, count(*) FROM visit GROUP BY place", {}, "once per group", "COUNT(DISTINCT"),
        ("SELECT place, count(DISTINCT reason) FROM visit GROUP BY place", {}, "once per group", "group_lp"),
        ("SELECT place, count(DISTINCT id) FROM visit GROUP BY place", {}, "once per group", "group_lp"),
        ("SELECT place, count(DISTINCT person), sum(minutes) FROM visit GROUP BY place", {}, "once", "alone"),
        ("SELECT place, count(DISTINCT host) FROM meeting GROUP BY place", {}, "one owner", "group_lp"),
        ("SELECT count(DISTINCT person) FROM visit", {}, "no GROUP BY", "leave out the mechanism"),
        (PER_TOWN, {"sampling_rate": 0.5}, "sample of rows", "without sampling"),
        (PER_TOWN, {"at_most": 1.0}, "chooses its clipping threshold itself", "leave out at_most"),
    ]
    for name, (sql, settings, message, hint) in product(("lpa", "gs"), refusals):
        with subtests.test(name=name, sql=sql):
            with pytest.raises(InvalidSetting, match=message) as refused:
                plan_visits(backend, visits_policy(), sql, mechanism=name, **settings)
            assert hint in str(refused.value.hint)


class KeysInOrder(SeededDraws):
    """Whoever is at more keys than count is counted at the first: the same order in neighbours."""

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)


def counted(path: Path, sql: str, groups: str) -> tuple[NDArray[np.float64], float]:
    """What the database has of a question as it is measured, without noise, and the scale of the noise."""
    backend, policy = DuckdbBackend(path), visits_policy(groups=groups)
    plan = plan_visits(backend, policy, sql, mechanism="lpa", epsilon=1.0)
    (made,) = plan_measurements(plan, policy).releases
    assert isinstance(made, KeyCounts)
    _, tuples = backend.read(rewrite(plan, dialect="duckdb", schema=backend.schema()))
    draws, entropy = KeysInOrder(1), ConstantEntropy()
    if isinstance(tuples.distinct[0], DistinctTuples):
        found = made.of_values(tuples.distinct[0], draws, entropy)
    else:
        assert isinstance(tuples.join, JoinTuples), "units are counted by their tuples"
        found = made.of_sums(encode(tuples.join), 0, draws, entropy)
    return found.values, float(found.noise_scale[0])


LEAVING = {
    "all rows": ("meeting WHERE 7 IN (host, guest)", "visit WHERE person = 7", "person WHERE id = 7"),
    "some rows": ("visit WHERE person = 7 AND id % 5 < 3",),
    "the first": ("visit WHERE person = 7 AND place < 'p2'",),
}


def test_who_leaves_moves_no_more_than_the_noise_hides(tmp_path: Path) -> None:
    """One who was everywhere, many times, with rows that are no visit to a declared place among them."""
    stays = tmp_path / "stays.duckdb"
    with duckdb.connect(stays) as connection:
        connection.execute(TABLES)
        connection.execute(
            f"INSERT INTO visit SELECT 100000 + i, 7, 'p' || (i % {PLACES + 3}), NULL, 1 FROM range(200) t(i)"
        )
    for leaving, deleted in sampled(list(LEAVING.items()), 1):
        gone = shutil.copyfile(stays, tmp_path / f"{leaving}.duckdb")
        for rows in deleted:
            with duckdb.connect(gone) as connection:  # each anew: a foreign key is checked against what was there
                connection.execute(f"DELETE FROM {rows}")
        for sql, groups in product((PER_PLACE, PER_TOWN), ("", "person = 2", RULE)):
            (before, scale), (after, same) = (counted(path, sql, groups) for path in (stays, gone))
            assert scale == same, (leaving, sql, groups)
            assert np.abs(before - after).sum() <= scale, (leaving, sql, groups)
            assert np.abs(before - after).max() <= 1, (leaving, sql, groups)
            if sql == PER_PLACE and not groups and leaving == "all rows":
                assert np.abs(before - after).sum() == PLACES


ANALYSTS = {"ada": (10.0, 0.0)}


def test_they_are_charged_kept_and_explained(backend: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> None:
    policy = visits_policy(groups=RULE)
    pipeline = Pipeline(policy, backend.schema(), backend, ledger, workers)

    def asked(sql: str, number: int) -> QueryResponse:
        return ask(pipeline, QueryRequest("ada", sql, epsilon=4.0, mechanism="gs", request_id=str(number)))

    text = " ".join(" ".join(str(line) for (line,) in asked(f"EXPLAIN {PER_PLACE}", 1).rows).split())
    assert "1/8 of epsilon measures the largest change of a count by smoothing" in text
    assert "the noise hides all groups of one unit, up to 5" in text
    assert ledger.budget("ada").epsilon_left == 10.0
    first, again = asked(PER_PLACE, 2), asked(PER_PLACE, 3)
    assert (first.epsilon, again.epsilon, again.cached) == (4.0, 0.0, True)
    assert (first.rows, first.covers, first.intervals) == (again.rows, "smoothed value", again.intervals)
    assert ledger.budget("ada").epsilon_left == 6.0
    asked(PER_TOWN, 4)
    shown = asked(f"{PER_PLACE} HAVING count(DISTINCT person) > 1 ORDER BY place DESC LIMIT 3", 5)
    assert (shown.epsilon, len(shown.rows)) == (0.0, 3)  # of the values that were paid for
    with pytest.raises(BudgetExhausted):
        asked(PER_PLACE.replace("GROUP BY", "WHERE minutes > 30 GROUP BY"), 6)


@pytest.mark.slow
def test_counts_by_key_are_asked_by_name_over_http(
    backend: DuckdbBackend, ledger: Ledger, workers: WorkerPool
) -> None:
    pipeline, key = Pipeline(visits_policy(), backend.schema(), backend, ledger, workers), new_key()
    ledger.add_analyst("eve", key_hash(key), epsilon=4.0, delta=0.0)

    def unread() -> tuple[Pipeline, tuple[str, ...]]:
        raise AssertionError("nothing is reloaded here")

    app = create_app(ReloadablePipeline(pipeline, lambda *_: unread()), ledger)

    async def asked(sql: str, name: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://noisegate.test", headers=headers) as http:
            return await http.post("/v1/query", json={"sql": sql, "epsilon": 2.0, "mechanism": name})

    reply = asyncio.run(asked(PER_TOWN, "gs"))
    body = reply.json()
    assert (reply.status_code, body["mechanism"], body["covers"]) == (200, "gs", "smoothed value"), body
    assert (len(body["rows"]), body["charge"]) == (3, {"epsilon": 2.0, "delta": 0.0})
    refused = asyncio.run(asked("SELECT place, count(*) FROM visit GROUP BY place", "gs"))
    assert (refused.status_code, refused.json()["code"]) == (422, "22023")
    assert "COUNT(DISTINCT" in refused.json()["hint"]
    assert ledger.budget("eve").epsilon_left == 2.0


@pytest.mark.slow
def test_a_mean_of_people_whose_number_is_public_is_a_sum(backend: DuckdbBackend) -> None:
    """What `sampled_mean` is without a sample, which none improves: its refusal says to write this."""
    policy = visits_policy()
    with pytest.raises(InvalidSetting) as refused:
        plan_visits(backend, policy, "SELECT avg(age) FROM person", mechanism="sampled_mean")
    assert "SUM(x) / N" in str(refused.value.hint)
    sql = f"SELECT sum(age) / {PEOPLE}.0 FROM person"
    answer = answer_visits(backend, policy, plan_visits(backend, policy, sql, at_most=99.0))
    ((mean,),), ((cell,),) = answer.rows, answer.intervals
    assert answer.covers == "truth"
    assert cell is not None and cell.low is not None and cell.high is not None
    assert cell.low - 0.1 <= 49.5 <= cell.high + 0.1
    assert cell.high - cell.low == pytest.approx(2 * 99 * math.log(20) / 4.0 / PEOPLE, rel=0.01)
    assert isinstance(mean, float)


@pytest.mark.slow
def test_empty_tables_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(EMPTY)
    for name in NAMES:
        assert len(answered(DuckdbBackend(path), PER_PLACE, name).rows) == PLACES, name
        found = answered(DuckdbBackend(path), "SELECT town, count(*) FROM person GROUP BY town", name)
        assert list(found.rows) == [], name
