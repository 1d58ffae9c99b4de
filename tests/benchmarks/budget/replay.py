"""One dashboard over all its loads, through the pipeline over a file that grows, under a ledger of its own."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from pathlib import Path

from planner.errors import PlannerError
from privacy.errors import PrivacyError
from server.errors import ServerError
from server.ledger.analyst import Act
from server.ledger.api_keys import key_hash, new_key
from server.ledger.sqlite.open import create_ledger
from server.ledger.store_ledger import StoreLedger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.benchmarks.budget.dashboards import Asked, Dashboard, asked
from tests.benchmarks.budget.growing_data import GrowingData, rows_of
from tests.benchmarks.budget.levers import ONLY_REUSE, Levers
from tests.benchmarks.budget.pipelines import pipeline_over
from tests.benchmarks.budget.reach import out_of_reach
from tests.benchmarks.budget.truth import true_errors
from tests.benchmarks.budget.typical_error import WANTED
from tests.benchmarks.budget.viewer import Refusal, Viewer
from tests.benchmarks.budget.workload import ask_workload
from tests.support.asking import ask

_GRANTED, _GRANTED_DELTA = 1e6, 0.5


def analyst_of(dashboard: Dashboard) -> str:
    """The name of who looks at a dashboard: workers are shared out by analyst."""
    return dashboard.name.partition(",")[0].replace(" ", "-")


@dataclass(frozen=True)
class Asking:
    """The proxy after one load, as a viewer asks it with these levers."""

    pipeline: Pipeline
    levers: Levers
    analyst: str
    key: str

    @property
    def max_epsilon(self) -> float:
        """The policy's."""
        return self.pipeline.policy.max_epsilon

    def request(self, sql: str, epsilon: float | None = None) -> QueryRequest:
        """A question, with what the levers say beside it."""
        return self.levers.asked(self.analyst, sql, epsilon)

    def free(self, sql: str) -> QueryResponse | None:
        """The answer that follows from kept ones: with `reuse = only`, where that lever is on."""
        if "reuse" not in self.levers.request() or not self.levers.reuse:
            return None
        try:
            return ask(self.pipeline, replace(self.request(sql), **ONLY_REUSE))
        except (PlannerError, ServerError):
            return None

    def answers(self, wishes: Sequence[tuple[str, float]]) -> Sequence[QueryResponse | Refusal]:
        """Each by itself, in order; or all of them as one workload."""
        if self.levers.workloads:
            return ask_workload(self.pipeline, self.key, wishes, self.levers.request())
        return [self._answer(*wish) for wish in wishes]

    def _answer(self, sql: str, epsilon: float) -> QueryResponse | Refusal:
        try:
            return ask(self.pipeline, self.request(sql, epsilon))
        except (PlannerError, ServerError, PrivacyError) as refusal:
            return refusal

    def proposed(self, sql: str) -> float:
        """What the library says that 5% takes, from the analyst's last answer."""
        return self.pipeline.propose(self.request(sql), WANTED).epsilon


@dataclass(frozen=True)
class Cost:
    """What one question came to on one day, without its answer."""

    dashboard: str
    template: str
    kind: str
    load: int
    epsilon: float
    delta: float
    wide: float
    error: float
    within: bool
    attempts: int
    mechanism: str
    cells: int


@dataclass(frozen=True)
class Replay:
    """One dashboard over its loads.

    Attributes:
      costs: of what was answered.
      excluded: templates that no permitted epsilon answers to 5%, by public numbers.
      beyond: those of which it was found out, with what was expected.
      refused: by template, the refusal.
      spent: what the ledger says, of everything, pilots of what was given up included.
      true_errors: of some answers, how far a typical cell was from the truth, as a part of it.
    """

    dashboard: str
    costs: tuple[Cost, ...]
    excluded: tuple[str, ...]
    beyond: Mapping[str, str]
    refused: Mapping[str, str]
    spent: float
    true_errors: tuple[float, ...] = field(default=())


def replay(
    dashboard: Dashboard,
    data: GrowingData,
    levers: Levers,
    workers: WorkerPool,
    loads: int,
    skipped: frozenset[str] | None = None,
) -> Replay:
    """Look at the dashboard after each load.

    Args:
      dashboard: what was recorded.
      data: what it is over.
      levers: those that are on.
      workers: where rows are read.
      loads: how many there are.
      skipped: the templates that are not asked; None: those are, unless by public numbers no epsilon does.
    """
    policy = data.policy_text(closed_periods=levers.closed_periods)
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        file = folder / "data.duckdb"
        data.begun(file)
        with closing(create_ledger(folder / "ledger.sqlite", folder / "policy.ledger.json")) as ledger:
            key = new_key()
            ledger.add_analyst(analyst_of(dashboard), key_hash(key), _GRANTED, _GRANTED_DELTA, act=Act("benchmark"))
            passing = _Passing(dashboard, data, levers, policy, workers, ledger, key, file, skipped)
            for load in range(loads):
                passing.load(load, last=load == loads - 1)
            return passing.replay()


class _Passing:
    """A replay on its way."""

    def __init__(
        self,
        dashboard: Dashboard,
        data: GrowingData,
        levers: Levers,
        policy: str,
        workers: WorkerPool,
        ledger: StoreLedger,
        key: str,
        file: Path,
        skipped: frozenset[str] | None,
    ) -> None:
        self._dashboard, self._data, self._levers, self._policy = dashboard, data, levers, policy
        self._workers, self._ledger, self._key, self._file, self._skipped = workers, ledger, key, file, skipped
        self._viewer: Viewer | None = None
        self._judged: dict[str, bool] = {}
        self._true_errors: list[float] = []
        self._rows = {name: rows_of(file, fact.table) for name, fact in dashboard.catalogue.facts.items()}

    def load(self, load: int, *, last: bool) -> None:
        """Append the day, say so, and look."""
        day = self._data.day(load)
        if load:
            self._data.append(self._file, day)
            self._ledger.bump_data(Act("benchmark", "the next day"))
        now = datetime.combine(day, time(20), UTC)
        pipeline = pipeline_over(self._file, self._policy, self._ledger, self._workers, lambda: now)
        asking = Asking(pipeline, self._levers, analyst_of(self._dashboard), self._key)
        if self._viewer is None:
            self._viewer = Viewer(asking, self._levers.combination, judges=self._skipped is None)
        viewer = self._viewer
        viewer.proxy = asking
        viewer.new_load()
        before = len(viewer.answered)
        for view in self._dashboard.views(load):
            questions = [asked(self._dashboard, chart, view, day) for chart in self._dashboard.charts]
            viewer.look([one for one in questions if not self._is_skipped(asking, one)], load)
        if load == 0 or last:
            self._true_errors += true_errors(self._file, viewer.answered[before:])

    def _is_skipped(self, asking: Asking, one: Asked) -> bool:
        if self._skipped is not None:
            return one.template in self._skipped
        if one.template not in self._judged:
            rows = one.share * self._rows[one.chart.fact]
            self._judged[one.template] = out_of_reach(asking.pipeline, asking.request(one.sql), rows)
        return self._judged[one.template]

    def replay(self) -> Replay:
        """What it has come to."""
        assert self._viewer is not None, "there was a load"
        budget = self._ledger.budget(analyst_of(self._dashboard))
        return Replay(
            self._dashboard.name,
            tuple(
                Cost(
                    self._dashboard.name,
                    one.asked.template,
                    one.asked.chart.kind,
                    one.load,
                    one.epsilon,
                    one.delta,
                    one.wide,
                    one.error,
                    one.within,
                    one.attempts,
                    one.answer.mechanism,
                    one.answer.n_cells,
                )
                for one in self._viewer.answered
            ),
            tuple(template for template, out in self._judged.items() if out),
            dict(self._viewer.beyond),
            dict(self._viewer.refused),
            budget.epsilon - budget.epsilon_left,
            tuple(self._true_errors),
        )


def by(costs: Sequence[Cost], key: str) -> dict[str, list[Cost]]:
    """Costs by an attribute."""
    found: dict[str, list[Cost]] = defaultdict(list)
    for cost in costs:
        found[str(getattr(cost, key))].append(cost)
    return dict(found)
