"""What follows from a kept answer is the sum of its values; and no row that it lacks is passed over in silence.

Questions are generated in pairs: a finer one that is measured, and a coarser one that must follow from it, each with
what it means in Python, over keys and values as the finer answer shows them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import duckdb
import pytest

from server.answers.work import Measure
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.errors import NotDerivable
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerLimits, WorkerPool
from tests.support.asking import ask
from tests.support.derived_pairs import (
    AGGREGATES,
    COARSER,
    FROM,
    KEPT,
    Value,
    finer,
    hospital_policy,
    load_hospital,
    pairs,
    says_what_it_lacks,
    totals,
)
from tests.support.seeds import sampled

POLICY = Path(__file__).parents[1] / "golden" / "domains" / "policy.toml"


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=60.0), preload="server.workers.measure")
    pool.warm()
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_hospital(tmp_path_factory.mktemp("derived") / "hospital.duckdb")


@pytest.fixture(scope="module")
def rows(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database, for whoever may read its rows."""
    with duckdb.connect(file, read_only=True) as connection:
        connection.execute("USE public; SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture
def pipeline(file: Path, tmp_path: Path, workers: WorkerPool) -> Iterator[Pipeline]:
    backend = DuckdbBackend(file, "public")
    policy = hospital_policy()
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=1e6, delta=0.01)
    yield Pipeline(policy, backend.schema(), backend, ledger, workers)
    ledger.close()


@pytest.mark.parametrize("seed", sampled(range(KEPT), 1))
def test_what_follows_is_the_sum_of_what_is_kept(
    seed: int, pipeline: Pipeline, rows: duckdb.DuckDBPyConnection
) -> None:
    draw = random.Random(seed)
    kept = finer(draw)
    asked = QueryRequest("ada", kept.sql(AGGREGATES), epsilon=5.0, request_id="kept")
    ask(pipeline, asked)
    (charge,) = pipeline.ledger.charges("ada")
    released = pipeline.cached.released_to(charge.charge.answer_key, "ada")
    assert released is not None
    spent = pipeline.ledger.budget("ada")
    coarser = list(pairs(kept.kept, draw))
    assert len(coarser) == COARSER
    for pair in coarser:
        request = QueryRequest("ada", pair.sql(AGGREGATES), request_id="r", reuse="only")
        looked_up = pipeline.find(request)
        answer = pipeline.finish(looked_up, request)
        assert (answer.epsilon, answer.delta, answer.cached) == (0.0, 0.0, True)
        if pair.keys == kept.keys and not pair.filters:
            continue  # it is that very question
        assert answer.derived_from == (1,)
        assert isinstance(looked_up, Measure)
        question = looked_up.question
        domain = pipeline.planning.groups(question.query, "ada") if pair.keys else Domain(())
        derived = pipeline.deciding.reusing.find(
            question,
            "ada",
            partial(pipeline.planning.groups, question.query, "ada") if pair.keys else lambda: Domain(()),
        )
        assert derived is not None
        wanted = totals(released, pair.group)
        assert set(wanted) <= set(domain.groups), pair
        for number, group in enumerate(domain.groups):
            values = [float(one.values[number]) for one in derived.noisy]
            assert values == pytest.approx(
                wanted.get(cast(tuple[Value, ...], group), [0.0, 0.0]), rel=1e-12, abs=1e-9
            ), pair
        assert says_what_it_lacks(pair, answer, rows), (pair, answer.notes)
    assert pipeline.ledger.budget("ada") == spent
    assert len(pipeline.ledger.charges("ada")) == 1


def test_what_is_not_finer_is_not_used(pipeline: Pipeline) -> None:
    ask(pipeline, QueryRequest("ada", f"SELECT v.ward, count(*) {FROM} WHERE v.days < 9 GROUP BY 1", request_id="k"))
    for sql in (
        f"SELECT v.ward, count(*) {FROM} GROUP BY 1",  # rows that the kept one has no part of
        f"SELECT v.ward, count(*) {FROM} WHERE v.days < 8 GROUP BY 1",
        f"SELECT v.kind, count(*) {FROM} WHERE v.days < 9 GROUP BY 1",  # another key
        f"SELECT count(*) {FROM} WHERE v.days < 9 AND v.emergency",
        f"SELECT v.ward, sum(v.days) {FROM} WHERE v.days < 9 GROUP BY 1",  # another sum
        "SELECT v.ward, count(*) FROM visit v WHERE v.days < 9 GROUP BY 1",  # another join
        f"SELECT v.ward, count(DISTINCT p.id) {FROM} WHERE v.days < 9 GROUP BY 1",
        f"SELECT v.ward < 'B', count(*) {FROM} WHERE v.days < 9 GROUP BY 1",  # the order of texts is the database's
    ):
        with pytest.raises(NotDerivable):
            ask(pipeline, QueryRequest("ada", sql, request_id="r", reuse="only"))
    assert len(pipeline.ledger.charges("ada")) == 1
