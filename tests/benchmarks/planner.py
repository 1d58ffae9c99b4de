"""Planning time, part by part, and how much of the acceptance material is answered: TPC-H, graphs, Stack Exchange."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from statistics import median

from planner.binding.bind import bind
from planner.errors import PlannerError
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from tests.benchmarks.rows import Row
from tests.golden.graphs.patterns import PATTERNS
from tests.golden.graphs.test_graphs import POLICY as GRAPH_POLICY
from tests.golden.graphs.test_graphs import SCHEMA as GRAPH_SCHEMA
from tests.golden.stackexchange import write_cases as site
from tests.golden.stackexchange.tables import schema as site_schema
from tests.golden.tpch.queries import NUMBERS, adapted, policy, published
from tests.golden.tpch.write_table import verdict
from tests.support.tpch_schema import tpch_schema

_RUNS = 101
_QUICK_RUNS = 5
_WARM_UP = 3
_BARS_MS = {"TPC-H Q5": 5.0, "6-way self-join": 20.0, "CASE of 300 branches": 300.0}

_CYCLE = (
    "SELECT count(*) FROM edge e1, edge e2, edge e3, edge e4, edge e5, edge e6\n"
    "WHERE e1.dst = e2.src AND e2.dst = e3.src AND e3.dst = e4.src AND e4.dst = e5.src AND e5.dst = e6.src\n"
    "  AND e6.dst = e1.src AND e1.src < e2.src AND e1.src < e3.src AND e1.src < e4.src AND e1.src < e5.src\n"
    "  AND e1.src < e6.src"
)

_BRANCHES = " ".join(f"WHEN o_orderkey > {n} AND o_totalprice < {n} THEN o_totalprice * {n}.5" for n in range(300))
"""About the largest statement that `planner.limits` accepts."""

Question = tuple[str, Schema, Policy]


def run(quick: bool) -> list[Row]:
    """Time each question and count the verdicts."""
    runs = _QUICK_RUNS if quick else _RUNS
    rows = []
    for name, question in _questions().items():
        rows += _times(name, question, runs)
    return rows + _acceptance()


def _questions() -> dict[str, Question]:
    """Everything that is timed, by name; a refusal's time counts, too."""
    tpch = tpch_schema()
    questions: dict[str, Question] = {"6-way self-join": (_CYCLE, GRAPH_SCHEMA, GRAPH_POLICY)}
    questions["CASE of 300 branches"] = f"SELECT sum(CASE {_BRANCHES} END) FROM orders", tpch, policy()
    for number in NUMBERS:
        questions[f"TPC-H Q{number}"] = published(number), tpch, policy()
        if (text := adapted(number)) is not None:
            questions[f"TPC-H Q{number} adapted"] = text, tpch, policy()
    for pattern in PATTERNS:
        questions[f"graph, {pattern.name}"] = pattern.spellings[0], GRAPH_SCHEMA, GRAPH_POLICY
    for name in site.NAMES:
        questions[f"site, {name}"] = site.before(name), site_schema(), site.policy()
    return questions


def _times(name: str, question: Question, runs: int) -> list[Row]:
    """Medians of the parts; a question that is refused has the time until its refusal."""
    samples: list[list[float]] = []
    for number in range(_WARM_UP + runs):
        sample = _sample(question)
        if number >= _WARM_UP:
            samples.append(sample)
    metrics = ("parse", "bind", "plan", "rewrite")
    answered = all(len(sample) == len(metrics) for sample in samples)
    totals = [sum(sample) * 1e3 for sample in samples]
    metric = "planning, median" if answered else "until the refusal, median"
    rows = [Row(name, metric, median(totals), "ms", most=_BARS_MS.get(name))]
    if answered:
        rows += [
            Row(name, f"{metric}, median", median(sample[place] for sample in samples) * 1e3, "ms")
            for place, metric in enumerate(metrics)
        ]
    return rows


def _sample(question: Question) -> list[float]:
    """Seconds of parse, bind, plan and rewrite, as far as they were reached."""
    text, schema, asked_policy = question
    seconds: list[float] = []
    with suppress(PlannerError):
        with _timed(seconds):
            tree = parse(text)
        with _timed(seconds):
            bound = bind(tree, schema, asked_policy)
        with _timed(seconds):
            plan = make_plan(bound, schema, asked_policy, epsilon=None, delta=None, mechanism=None)
        with _timed(seconds):
            rewrite(plan)
    return seconds


@contextmanager
def _timed(seconds: list[float]) -> Iterator[None]:
    """Of the processor: planning waits for nothing, so on an idle machine that is the time by the clock."""
    start = time.process_time()
    try:
        yield
    finally:
        seconds.append(time.process_time() - start)


def _acceptance() -> list[Row]:
    verdicts = [verdict(number) for number in NUMBERS]
    rows = [Row("TPC-H", name, float(verdicts.count(name)), "1") for name in dict.fromkeys(verdicts)]
    graphs = [(text, GRAPH_SCHEMA, GRAPH_POLICY) for pattern in PATTERNS for text in pattern.spellings]
    questions = [(site.before(name), site_schema(), site.policy()) for name in site.NAMES]
    for name, asked in (("graph spellings", graphs), ("site questions", questions)):
        rows += [Row(name, "asked", float(len(asked)), "1"), Row(name, "answered", float(_answered(asked)), "1")]
    return rows


def _answered(questions: Sequence[Question]) -> int:
    return sum(len(_sample(question)) == 4 for question in questions)
