"""The far tail: the largest error of 100,000 releases of each of the demonstration's questions.

Tuples are read once and truncated at every threshold; what is drawn again and again is the choice of a threshold and
the noise, from numpy's generator.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace

import numpy as np
import psycopg
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.release import release_noise, released
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.shared_threshold import SharedThreshold, SummedAnswer
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import CountedAnswer, TabulatedAnswer
from privacy.units import ONE
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.demo.demonstration import QUERIES, DemoQuery
from server.demo.workplace import ROOT, prepare
from server.workers.measure import plan_measurements
from tests.benchmarks.rows import Row
from tests.support.scalar_study import contenders
from tests.support.scalar_study.repeated_answer import RepeatedAnswer
from tests.support.simulated_entropy import SimulatedEntropy

_RELEASES, _QUICK_RELEASES = 100_000, 2_000
_TIMES_USUAL, _OF_BEFORE = 20.0, 1.05

Scalar = Gem | SharedThreshold


def far_tail(quick: bool) -> list[Row]:
    """Each question's 95th percentile and largest error, beside those of the settings before."""
    console = Console(stderr=True)
    with Progress(console=console, disable=bool(os.environ.get("CI"))) as progress:
        demonstration = prepare(ROOT / "demo", progress, console.print)
        try:
            policy = parse_policy(demonstration.policy.read_text())
            with psycopg.connect(demonstration.proxy_url) as connection:
                schema = read_schema(connection)
            backend = PostgresBackend(demonstration.proxy_url)
            rows: list[Row] = []
            for query in progress.track(QUERIES, description="far tail"):
                rows += _rows(query, *_tabulated(query, schema, policy, backend), quick)
            return rows
        finally:
            demonstration.server.stop()


def _tabulated(
    query: DemoQuery, schema: Schema, policy: Policy, backend: PostgresBackend
) -> tuple[Scalar, TabulatedAnswer]:
    """The mechanism of a question, and what it releases from at every threshold."""
    plan = make_plan(bind(parse(query.sql), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism=None)
    (measuring,) = plan_measurements(plan, policy).releases
    scalar = measuring.scalar if isinstance(measuring, GroupLp) else measuring
    if isinstance(scalar, Clip):  # of one owner's tuples in groups: as the shared threshold of their totals
        scalar = SharedThreshold(scalar.budget, 1, 0.0, scalar.thresholds, scalar.selection, nested=True)
    assert isinstance(scalar, Gem | SharedThreshold), "the demonstration's questions choose their thresholds"
    _, read = backend.read(rewrite(plan, schema=schema, contributions=False))
    assert isinstance(read.join, JoinTuples)
    answer = truncate(encode(read.join), 0, scalar.thresholds, scalar.gap)
    values = np.array(
        [[answer.solve(group, level) for level in range(len(scalar.thresholds))] for group in range(answer.n_groups)]
    )
    counts = answer.exceedances if isinstance(answer, CountedAnswer) else None
    return scalar, TabulatedAnswer(values.astype(np.int64), scalar.thresholds, scalar.gap, counts)


def _before(selection: SelectionSettings) -> SelectionSettings:
    """With as much of epsilon: rarer by four with each doubling, up to one in a thousand."""
    return replace(selection, beta=1e-3, rarity=4.0, growth=0.0)


def _rows(query: DemoQuery, scalar: Scalar, answer: TabulatedAnswer, quick: bool) -> list[Row]:
    runs = _QUICK_RELEASES if quick else _RELEASES
    before = replace(scalar, selection=_before(scalar.selection))
    errors, earlier = (_errors(one, answer, runs) for one in (scalar, before))
    usual, usual_before = (float(np.median(np.quantile(one, 0.95, axis=0))) for one in (errors, earlier))
    largest, largest_before = (float(one.max()) for one in (errors, earlier))
    bars = (None, None) if quick else (_TIMES_USUAL, _OF_BEFORE)
    return [
        Row(query.name, "relative error, 95th percentile", usual, "1"),
        Row(query.name, f"largest of {runs:,}, of the 95th percentile", largest / usual, "1", most=bars[0]),
        Row(query.name, "the same, settings before", largest_before / usual_before, "1"),
        Row(query.name, "95th percentile, of that with the settings before", usual / usual_before, "1", most=bars[1]),
        Row(query.name, "median, of that with the settings before", _median(errors) / _median(earlier), "1"),
    ]


def _median(errors: NDArray[np.float64]) -> float:
    return float(np.median(np.median(errors, axis=0)))


def _errors(scalar: Scalar, answer: TabulatedAnswer, runs: int) -> NDArray[np.float64]:
    """(runs, G) relative errors of independent releases."""
    entropy = SimulatedEntropy(7)
    truth = answer.values[:, -1] / ONE
    if isinstance(scalar, Gem) and answer.n_groups == 1:
        return np.abs(contenders.released(scalar, answer, runs, 1.0, entropy)[:, None] - truth) / truth
    assert isinstance(scalar, SharedThreshold)
    many = _ManyReleases(**{one.name: getattr(scalar, one.name) for one in fields(scalar)})
    return np.abs(many.values(answer, runs, entropy) - truth) / truth


class _ManyReleases(SharedThreshold):
    """Independent releases of one answer, all choices drawn together and then all noise."""

    def values(self, answer: TabulatedAnswer, runs: int, entropy: SimulatedEntropy) -> NDArray[np.float64]:
        """(runs, G) released, in normalised weight."""
        groups = answer.n_groups
        summed = SummedAnswer(answer, self._reached(groups))
        together = RepeatedAnswer(summed, self.thresholds, runs)
        level = self.budget.choose(together, self._scores(groups), self._selecting, entropy).index
        index, exact = np.repeat(level, groups), answer.values.T[level].ravel()
        steps = self._levels(groups)
        noisy = released(exact, release_noise(index, steps, entropy), index, steps)
        return noisy.reshape(runs, groups)
