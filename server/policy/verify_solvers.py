"""A question's truncated values by both solvers, for the administrator: exact, from the database itself.

Nothing here is differentially private and nothing is charged. It runs from the command line of someone with the
policy and the database's password; no client can reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.binding.bind import bind
from planner.errors import UnsupportedSQL
from planner.expand_views import expanded
from planner.parsing.parse import private_select, read
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.compare_solvers import ComparedThreshold, compare_removals, compare_solvers
from privacy.join_tuples import JoinTuples
from privacy.papers.vector_release import merged
from privacy.truncation.encode import encode
from server.backends.backend import Backend


@dataclass(frozen=True, repr=False)
class Compared:
    """One threshold of one release; `weight_bound` turns normalised weight into the answer's own unit."""

    label: str
    weight_bound: float
    at: ComparedThreshold


def verify_solvers(
    sql: str, policy: Policy, schema: Schema, backend: Backend, vector: bool = False
) -> Iterator[Compared]:
    """Plan a question with the policy's defaults, read its join, and solve every program of its sums twice.

    Args:
      sql: one SELECT of sums and counts over private tables; counts of distinct values are left out.
      vector: compare the program over all groups together, which pmsja and s4s_vector solve, in persons removed.
    Raises: PlannerError as of a question, UnsupportedSQL where there is no sum; BackendFailed; SolverFailed.
    Cost: that of `compare_solvers`; the groups' selection and rule are left out, and no sample is drawn.
    """
    plan = _planned(sql, policy, schema)
    sums = [release for release in plan.releases if release.is_sum]
    if not sums:
        raise UnsupportedSQL(
            "the question has no sum or count, so no truncation program", hint="ask for a sum or a count"
        )
    query = rewrite(plan, dialect=backend.dialect, schema=schema, contributions=False)
    _, found = backend.read(query)
    assert isinstance(found.join, JoinTuples), "sums have a join"
    coded = encode(found.join)
    for row, release in enumerate(sums):
        thresholds = plan.thresholds(release)
        if vector:
            for at in compare_removals(merged(coded, row), thresholds):
                yield Compared(f"{release.label}, persons removed", 1.0, at)
        else:
            for at in compare_solvers(coded, row, thresholds, plan.gap(release)):
                yield Compared(release.label, release.weight_bound, at)


def _planned(sql: str, policy: Policy, schema: Schema) -> Plan:
    select = private_select(expanded(read(sql), schema, policy))
    return make_plan(bind(select, schema, policy), schema, policy)
