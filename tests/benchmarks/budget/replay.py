"""Dashboards over all their loads, through the pipeline over one file that grows, under one ledger.

Each dashboard is an analyst's own, who has paid for nothing that others have.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from pathlib import Path

from planner.errors import PlannerError
from planner.policy.policy import parse_policy
from privacy.errors import PrivacyError
from server.errors import ServerError
from server.ledger.analyst import Act, key_hash, new_key
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.policy.data_versions import bump_version, note_first
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.benchmarks.budget.dashboards import Asked, Dashboard, asked
from tests.benchmarks.budget.growing_data import GrowingData, rows_of
from tests.benchmarks.budget.levers import ONLY_REUSE, Levers
from tests.benchmarks.budget.pipelines import pipeline_over
from tests.benchmarks.budget.reach import out_of_reach
from tests.benchmarks.budget.truth import TrueError, true_errors
from tests.benchmarks.budget.viewer import Refusal, Viewer
from tests.benchmarks.budget.workload import ask_workload, gains
from tests.support.asking import ask

_GRANTED, _GRANTED_DELTA = 1e6, 0.5
_AT_ONCE = 2


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
    first: bool = True

    @property
    def max_epsilon(self) -> float:
        """The policy's."""
        return self.pipeline.policy.max_epsilon

    @property
    def combines(self) -> bool:
        """Is that lever on?"""
        return self.levers.combination

    def request(self, sql: str, epsilon: float | None = None) -> QueryRequest:
        """A question, with what the levers say beside it.

        Where closed periods are kept and nothing is to be derived, its mechanism is named, which says so.
        """
        asked = self.levers.asked(self.analyst, sql, epsilon)
        if not self.levers.closed_periods or self.levers.reuse:
            return asked
        try:
            return replace(asked, mechanism=self.pipeline.planning.question(asked).plan.mechanism)
        except (PlannerError, ServerError):
            return replace(asked, reuse="never")  # a statement around answers

    def free(self, sql: str) -> QueryResponse | None:
        """The answer that follows from kept ones: with `reuse = only`, where that lever is on."""
        return self._derived(sql) if self.levers.reuse else None

    def combined(self, sql: str) -> QueryResponse | None:
        """What several releases of a question say together, where they were cut alike and that lever is on."""
        return self._derived(sql) if self.levers.combination else None

    def _derived(self, sql: str) -> QueryResponse | None:
        try:
            return ask(self.pipeline, replace(self.levers.asked(self.analyst, sql), **ONLY_REUSE))
        except (PlannerError, ServerError):
            return None

    def answers(self, wishes: Sequence[tuple[str, float]]) -> Sequence[QueryResponse | Refusal]:
        """Each by itself, in order; or all of them as one workload, where it is said to gain.

        Where closed periods are kept that is so on the first day: from then on most of each question is kept, and a
        workload measures its questions whole.
        """
        if (
            self.levers.workloads
            and (self.first or not self.levers.closed_periods)
            and gains(self.pipeline, self.analyst, wishes)
        ):
            return ask_workload(self.pipeline, self.key, wishes)
        return [self._answer(*wish) for wish in wishes]

    def _answer(self, sql: str, epsilon: float) -> QueryResponse | Refusal:
        try:
            return ask(self.pipeline, self.request(sql, epsilon))
        except (PlannerError, ServerError, PrivacyError) as refusal:
            return refusal


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
      true_errors: of some answers, how far they were from the truth.
    """

    dashboard: str
    costs: tuple[Cost, ...]
    excluded: tuple[str, ...]
    beyond: Mapping[str, str]
    refused: Mapping[str, str]
    spent: float
    true_errors: tuple[TrueError, ...] = field(default=())


def replay(
    dashboards: Sequence[Dashboard],
    data: GrowingData,
    levers: Levers,
    workers: WorkerPool,
    loads: int,
    skipped: frozenset[str] | None = None,
) -> list[Replay]:
    """Look at the dashboards of one data set after each load.

    Args:
      dashboards: what was recorded.
      data: what they are over.
      levers: those that are on.
      workers: where rows are read.
      loads: how many there are.
      skipped: the templates that are not asked; None: those are, unless by public numbers no epsilon does.
    """
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        growing = _Growing(data, levers, folder)
        with (
            closing(create_ledger(folder / "ledger.sqlite", folder / "policy.ledger.json")) as ledger,
            ThreadPoolExecutor(_AT_ONCE) as threads,
        ):
            passing = [_Passing(one, levers, ledger, growing.file, skipped) for one in dashboards]
            for load in range(loads):
                day = growing.grown(load, ledger)
                pipeline = growing.pipeline(ledger, workers, day)
                list(threads.map(lambda one: one.look(pipeline, load, day), passing))  # noqa: B023 - it is waited for
                asked = sum(one.n_answered for one in passing)
                print(f"{data.name}: load {load + 1} of {loads}, {asked:,} questions", flush=True)
                if load in (0, loads - 1):
                    for one in passing:
                        one.compare()
            return [one.replay() for one in passing]


@dataclass(frozen=True)
class _Growing:
    """The file of a data set, its policy, and what its custodian does after each load."""

    data: GrowingData
    levers: Levers
    folder: Path

    @property
    def file(self) -> Path:
        """The rows, where the policy says."""
        return self.folder / "data.duckdb"

    def grown(self, load: int, ledger: Ledger) -> date:
        """Append the day of a load, and say so; the first is begun. What is closed is compared with what it was."""
        day = self.data.day(load)
        text = self.levers.policy_text(self.data)
        path, policy = self.folder / "policy.toml", parse_policy(text)
        if load == 0:
            path.write_text(text)
            self.data.begun(self.file)
            note_first(policy, path, ledger, Act("benchmark"), _evening(day))
        else:
            self.data.append(self.file, day)
            bumped = bump_version(policy, path, ledger, Act("benchmark", "the next day"), at=_evening(day))
            assert bumped.version == load + 1, "rows are only appended"
        return day

    def pipeline(self, ledger: Ledger, workers: WorkerPool, day: date) -> Pipeline:
        """The proxy on a day."""
        text = self.levers.policy_text(self.data)
        return pipeline_over(self.file, text, ledger, workers, lambda: _evening(day))


def _evening(day: date) -> datetime:
    return datetime.combine(day, time(20), UTC)


class _Passing:
    """The replay of one dashboard on its way."""

    def __init__(
        self, dashboard: Dashboard, levers: Levers, ledger: Ledger, file: Path, skipped: frozenset[str] | None
    ) -> None:
        self._dashboard, self._levers, self._ledger, self._file = dashboard, levers, ledger, file
        self._skipped = skipped
        self._analyst, self._key = analyst_of(dashboard), new_key()
        ledger.add_analyst(self._analyst, key_hash(self._key), _GRANTED, _GRANTED_DELTA, act=Act("benchmark"))
        self._viewer: Viewer | None = None
        self._judged: dict[str, bool] = {}
        self._true_errors: list[TrueError] = []
        self._rows: dict[str, int] = {}
        self._looked = 0

    def look(self, pipeline: Pipeline, load: int, day: date) -> None:
        """What is looked at after a load."""
        asking = Asking(pipeline, self._levers, self._analyst, self._key, load == 0)
        if self._viewer is None:
            self._rows = {
                name: rows_of(self._file, fact.table) for name, fact in self._dashboard.catalogue.facts.items()
            }
            self._viewer = Viewer(asking, keeps=self._levers.closed_periods, judges=self._skipped is None)
        viewer = self._viewer
        viewer.proxy = asking
        viewer.new_load()
        self._looked = len(viewer.answered)
        for view in self._dashboard.views(load):
            questions = [asked(self._dashboard, chart, view, day) for chart in self._dashboard.charts]
            wanted = [one for one in questions if not self._is_skipped(asking, one)]
            viewer.look(sorted(wanted, key=_finest_first) if self._levers.reuse else wanted, load)

    @property
    def n_answered(self) -> int:
        """How many questions were answered so far."""
        return len(self._viewer.answered) if self._viewer is not None else 0

    def compare(self) -> None:
        """Compare what was answered last with the truth."""
        assert self._viewer is not None, "there was a load"
        self._true_errors += true_errors(self._file, self._viewer.answered[self._looked :])

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


_BUCKETS = ("day", "week", "month", "year", "")


def _finest_first(one: Asked) -> tuple[int, int]:
    """In which order what follows from others comes after them: by how fine a chart's time is, then by its keys."""
    return _BUCKETS.index(one.chart.bucket), -len(one.chart.keys)
