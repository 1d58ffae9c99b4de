"""Where the time of a question goes: read, group, transfer, encode, solve, against the rows of its largest table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any, cast

from sqlglot import exp, parse_one

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.declared import with_declared_keys
from planner.rewriting.compact_tuples import compact, total_sql
from planner.rewriting.dialects.dialect_table import DIALECTS
from planner.rewriting.rewrite import rewrite
from planner.schema import Dialect, Schema
from privacy.join_tuples import JoinTuples
from privacy.truncation.encode import encode
from server.workers.measure import Measuring, measure, plan_measurements
from tests.benchmarks.engines.against_plain import QUESTIONS, timed
from tests.benchmarks.engines.databases import Engine, schema_of
from tests.benchmarks.rows import Row

COSTED = {"by nation": "one owner, by nation", "Q5 by nation": "two owners, by nation"}
STEPS = ("database", "transfer", "encode", "solve")
READ = "of the database: read and joined"
"""The same join and weights, added up without grouping them; what is left of the database's share is grouping."""

ROWS = "rows of the largest table"

_RUNS = 3


def costs(engine: Engine, scale: float, quick: bool) -> Iterator[Row]:
    """Seconds of each step of two questions; `transfer` has the opening of the database, `solve` the release.

    The database's own share is that of the statement whose columns are computed there and not sent; what a worker
    process adds is in the figures beside the plain aggregate.
    """
    policy, found = engine.policy, engine.backend
    schema = with_declared_keys(schema_of(found), policy)
    ((rows,),) = cast("Any", engine.plain("SELECT count(*) FROM lineitem"))
    for name, shown in COSTED.items():
        sql = QUESTIONS[name]
        plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism=None)
        query, measuring = rewrite(plan, dialect=found.dialect, schema=schema), plan_measurements(plan, policy)
        statement = query.join if query.contributions is None else query.contributions
        assert statement is not None, "it sums over a join"
        inside = _not_sent(statement)
        read = _ungrouped(plan, found.dialect, schema)
        case = f"{engine.name}, scale {scale:g}: {shown}"
        yield Row(case, ROWS, rows, "rows")
        measure(found, query, measuring)  # kernels compile
        runs = 1 if quick else _RUNS
        taken = [_steps(engine, query, measuring, inside) for _ in range(runs)]
        for step, values in zip(STEPS, zip(*taken, strict=True), strict=True):
            yield Row(case, step, median(values), "s")
        yield Row(case, READ, median(timed(partial(engine.as_proxy or engine.plain, read)) for _ in range(runs)), "s")


def _steps(engine: Engine, query: BackendQuery, measuring: Measuring, inside: str) -> tuple[float, ...]:
    """The seconds of each of STEPS, by what each piece of work takes longer than what is in it."""
    run = engine.as_proxy or engine.plain
    inside_s = timed(lambda: run(inside))
    started = time.perf_counter()
    _, tuples = engine.backend.read(query)
    read_s = time.perf_counter() - started
    join = tuples.join
    encode_s = timed(lambda: encode(join)) if isinstance(join, JoinTuples) else 0.0
    whole_s = timed(lambda: measure(engine.backend, query, measuring))
    return inside_s, max(0.0, read_s - inside_s), encode_s, max(0.0, whole_s - read_s - encode_s)


def _ungrouped(plan: Plan, dialect: Dialect, schema: Schema) -> str:
    """The sums of the same weights over the same join, of everybody together."""
    weights = [release.weight for release in plan.releases if release.is_sum]
    whole = compact(plan.source, [], [], totals=[total_sql(weight) for weight in weights])
    whole.set("group", None)
    return DIALECTS[dialect].question(whole, schema)


def _not_sent(statement: str) -> str:
    """The same rows, of which the largest value in each column is all that is returned."""
    columns = ", ".join(
        f'max("{name}")' for name in parse_one(statement, read="postgres", into=exp.Select).named_selects
    )
    return f"SELECT {columns} FROM ({statement}) AS computed"
