"""Releases as a server makes them, from the rows of a database on, keep their claims; two mistakes of a whole do not.

Parts of them are audited alone elsewhere. Here a database counts what people have, a threshold is chosen, people are
cut to it and rounded, noise is drawn, and all that is released of the question is seen. Of a right release an audit
fails by chance once in FAILURE_PROBABILITY, and never twice differently, as draws follow from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import duckdb
import numpy as np
import pytest

from planner.plan import BackendQuery
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from privacy.entropy import Entropy
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.unit_vectors import UnitVectors
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import NormHistogram, VectorsOfSum
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.query_tuples import QueryTuples
from server.workers.measure import Measuring, measure, plan_measurements
from tests.audit.auditing import FAILURE_PROBABILITY, slow
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.mutants import WeakerNoise
from tests.support.planning import planned
from tests.support.replay_entropy import ConstantEntropy
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON, DELTA = 1.0, 0.01
"""A delta that is seen in some thousand runs."""

LIGHT, MOST = 100, 16
"""People with one row of the lowest grade, half of them in either place; and how many rows others have in the first
place, of the highest grade."""

POLICY = f"""
    name = "visits"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = {EPSILON}
    delta = {DELTA}
    [privacy_units]
    person = "id"
    [tables.visit.rows_per_unit]
    person = {MOST}
    [tables.visit.columns]
    place = {{ domain = ["a", "b"] }}
    grade = {{ range = [0, 1] }}
"""
TABLES = """
    CREATE TABLE person (id bigint PRIMARY KEY);
    CREATE TABLE visit (
        id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, place varchar NOT NULL, grade bigint NOT NULL
    );
"""


Released = tuple[NoisyAnswer, ...]


def counted(noisy: Released) -> float:
    """A count, less those with one row, in multiples of its noise."""
    (count,) = noisy
    return float((count.values[0] - LIGHT / 2) / count.noise_scale[0])


def left(noisy: Released) -> float:
    """The same of the rows, and of what an average leaves around its centre, which is cut at tau on either side."""
    count, centre, rest = noisy
    others = -LIGHT / 2 * np.clip(centre.values[0], -rest.tau[0], rest.tau[0])
    return counted((count,)) + float((rest.values[0] - others) / rest.noise_scale[0])


@dataclass(frozen=True)
class Question:
    """How it is asked, and what of its releases moves when a person comes to those with one row."""

    sql: str
    delta: float
    mechanism: str
    seen: Callable[[Released], float]


BY_PLACE = "SELECT place, count(*) FROM visit GROUP BY place"
QUESTIONS = {
    "l1": Question(BY_PLACE, 0.0, "l1_clip", counted),
    "l2": Question(BY_PLACE, DELTA, "l2_clip", counted),
    "average": Question("SELECT place, avg(grade) FROM visit GROUP BY place", 0.0, "joint_scale", left),
}
EACH = ["l1", slow("l2"), slow("average")]


@dataclass(frozen=True)
class Read:
    """A question with what the database has said to it, which is the same however often it is asked."""

    query: BackendQuery
    measuring: Measuring
    found: tuple[Domain, QueryTuples]

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        assert query is self.query, "one question"
        return self.found

    def released(self) -> Released:
        return measure(cast(Backend, self), self.query, self.measuring)[1]


@cache
def policy() -> Policy:
    return parse_policy(POLICY)


def asked(question: Question, heavy: int, folder: Path) -> Read:
    """With so many people who have MOST rows, beside those with one."""
    file = folder / f"{heavy}.duckdb"
    if not file.exists():
        with duckdb.connect(file) as connection:
            connection.execute(TABLES)
            connection.execute(f"INSERT INTO person SELECT * FROM range({LIGHT + heavy})")
            connection.execute(
                f"INSERT INTO visit SELECT id, id, if(id % 2 = 0, 'a', 'b'), 0 FROM range({LIGHT}) p(id)"
            )
            rows = f"SELECT {LIGHT} + id, {LIGHT} + id // {MOST}, 'a', 1 FROM range({heavy * MOST}) p(id)"
            connection.execute(f"INSERT INTO visit {rows}")
    backend = DuckdbBackend(file)
    schema = backend.schema()
    named = question.mechanism if question.delta else None  # two groups are too few for Gaussian noise by default
    plan = planned(question.sql, schema, policy(), epsilon=EPSILON, delta=question.delta, mechanism=named)
    assert plan.mechanism == question.mechanism
    query = rewrite(plan, schema=schema)
    return Read(query, plan_measurements(plan, policy()), backend.read(query))


@dataclass(frozen=True)
class Audit:
    """One question to neighbours, which differ by one person with all that the person has."""

    question: Question
    folder: Path
    patch: pytest.MonkeyPatch

    def bound(self, heavy: int, runs: int, entropy: Entropy) -> float:
        """Of epsilon from below, by values and thresholds; `heavy`: of how many people there are one more."""
        self.patch.setattr("server.workers.measure.OpendpEntropy", lambda: entropy)

        def of(people: int) -> Outputs:
            read = asked(self.question, people, self.folder)
            found = [read.released() for _ in range(runs)]
            taus = np.log2([one[-1].tau[0] for one in found])
            return Outputs(np.array([self.question.seen(one) for one in found]), np.rint(4 * taus).astype(np.int64))

        return epsilon_lower_bound(of(heavy + 1), of(heavy), FAILURE_PROBABILITY, self.question.delta)

    def edge(self) -> int:
        """Of how many people one more changes the threshold that is best: found by halving, without noise."""
        self.patch.setattr("server.workers.measure.OpendpEntropy", ConstantEntropy)

        def tau(heavy: int) -> float:
            return float(asked(self.question, heavy, self.folder).released()[0].tau[0])

        low, high = 0, 2 * LIGHT
        assert tau(low) != tau(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if tau(middle) == tau(low) else (low, middle)
        return low


@pytest.fixture
def audit(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    return Audit(QUESTIONS[request.param], tmp_path, monkeypatch)


def best(clip: Clip, vectors: UnitVectors | VectorsOfSum, _: Entropy) -> int:
    """The threshold with the best score, as if the data were public."""
    best_scores = clip._scores(vectors.n_groups).bounds(vectors.kept(clip.thresholds))[0]
    return int(best_scores[0].argmin())


def simulated() -> Entropy:
    return SimulatedEntropy(20261130)


RUNS = examples(100, 4_000)


@pytest.mark.parametrize("audit", EACH, indirect=True)
def test_a_person_comes(audit: Audit) -> None:
    """Where everybody has one row, and where a choice among all thresholds is open."""
    for heavy in (0, 40):
        assert audit.bound(heavy, RUNS, simulated()) <= EPSILON


@pytest.mark.parametrize("audit", EACH, indirect=True)
def test_catches_a_threshold_that_is_the_best_of_the_data(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one person turns it."""
    monkeypatch.setattr(Clip, "choose", best)
    assert audit.bound(audit.edge(), 150, simulated()) > EPSILON


@pytest.mark.parametrize(
    ("audit", "part", "runs"),
    [("l1", 1 / 8, 200), slow("l1", 1 / 2, 12_000), slow("l2", 1 / 4, 3_000), slow("average", 1 / 4, 3_000)],
    indirect=["audit"],
)
def test_catches_a_part_of_the_noise(audit: Audit, part: float, runs: int) -> None:
    """Half, where a release has the most of epsilon and many runs take seconds; of the others a quarter.

    The half costs little more than epsilon in the others, which only far more runs would show.
    """
    weaker = WeakerNoise(simulated(), laplace=part, geometric=part, gaussian=part)
    assert audit.bound(0, runs, weaker) > EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("audit", ["l1"], indirect=True)
def test_a_release_spends_a_good_part_of_what_it_may(audit: Audit) -> None:
    assert audit.bound(0, 4_000, simulated()) > 0.3 * EPSILON


def test_people_at_the_declared_bound_do_not_exceed_it(tmp_path: Path) -> None:
    """Else every threshold is as good as any, as the last one cuts as many people as the first."""
    for question in (QUESTIONS["l1"], QUESTIONS["l2"]):
        join = asked(question, 5, tmp_path).found[1].join
        assert isinstance(join, NormHistogram)
        exceeding = VectorsOfSum(join, 0).kept(Thresholds(0, 4)).exceedances
        assert exceeding is not None
        assert exceeding.tolist() == [[5, 5, 5, 5, 0]]
