"""Numbers of values that are one person's each, and found groups: a database counts of them what people have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import DistinctTuples
from privacy.truncation.histograms import ContributionHistogram
from server.backends.duckdb import DuckdbBackend
from tests.property.test_load_removal import AT_ONE, ATTACHED, PEOPLE, POLICY, Clinic, solved
from tests.support.seeds import sampled
from tests.support.truncated import truncated

OWNED = [
    "SELECT count(DISTINCT id) FROM patient",
    "SELECT count(DISTINCT patient_id) FROM visit",
    "SELECT count(DISTINCT number) FROM visit",
    "SELECT count(DISTINCT number) FILTER (WHERE cost > 0), count(*) FROM visit",
    f"SELECT w.name, count(DISTINCT v.number), count(DISTINCT p.id) FROM {ATTACHED} GROUP BY w.name",
    "SELECT w.days, count(DISTINCT v.number) FROM visit v JOIN visit w ON v.patient_id = w.patient_id"
    " GROUP BY w.days",
]
SHARED = [
    "SELECT count(DISTINCT days) FROM visit",
    "SELECT count(DISTINCT p.ward) FROM patient p JOIN visit v ON v.patient_id = p.id",
    "SELECT count(DISTINCT number::text) FROM visit",
    "SELECT count(DISTINCT (number, days)) FROM visit",
]
ADDED = [
    "SELECT sum(DISTINCT days) FROM visit",
    "SELECT p.ward, sum(DISTINCT v.cost), avg(DISTINCT days) FROM patient p JOIN visit v ON v.patient_id = p.id"
    " GROUP BY p.ward",
    "SELECT sum(DISTINCT days - 3) FILTER (WHERE cost > 10) FROM visit",
    "SELECT sum(DISTINCT v.days + ('x' || md5(v.number::text))::bit(64)::bigint)"
    " - sum(DISTINCT ('x' || md5(v.number::text))::bit(64)::bigint) FROM visit v"
    " JOIN visit w ON v.patient_id = w.patient_id",
]
FOUND = [
    "SELECT town, count(*), sum(age) FROM patient GROUP BY town",
    "SELECT town, age > 30, count(DISTINCT id) FROM patient GROUP BY 1, 2",
    "SELECT p.town, count(DISTINCT v.number), sum(v.cost) FROM visit v JOIN patient p ON v.patient_id = p.id"
    " GROUP BY p.town",
]


Cells = list[NDArray[np.int64]]
"""Per release, its values over the thresholds."""


def values_at(
    backend: DuckdbBackend, sql: str, policy: Policy, *, contributions: bool
) -> tuple[dict[object, Cells], list[NDArray[np.int64]]]:
    """By group, what each release is truncated to; the selection's last, where there is one. And the thresholds."""
    schema = backend.schema()
    bound = bind(parse(sql), schema, policy)
    asked = None if any(aggregate.function != "distinct" for aggregate in bound.aggregates) else "gem"
    plan = make_plan(bound, schema, policy, epsilon=1.0, delta=None, mechanism=asked)
    assert "no unit's key leaves it" in plan.reason
    domain, found = backend.read(rewrite(plan, dialect="duckdb", schema=schema, contributions=contributions))
    threshold_sets = [plan.thresholds(release) for release in plan.releases if release.is_sum]
    if plan.selection is not None:
        threshold_sets.append(AT_ONE)
    answers = [
        solved(truncated(found.join, row, thresholds, 0.0), thresholds)
        for row, thresholds in enumerate(threshold_sets)
    ]
    for release, one in zip(plan.releases, found.distinct, strict=False):
        if one is not None:
            assert isinstance(one, ContributionHistogram if contributions else DistinctTuples)
            thresholds = AT_ONE if release.determined else plan.thresholds(release)
            answers.append(solved(truncated(one, 0, thresholds, 0.0), thresholds))
    groups: dict[object, Cells] = {
        group: [cells[place] for cells, _ in answers] for place, group in enumerate(domain.groups)
    }
    return groups, [taus for _, taus in answers]


@pytest.mark.parametrize("seed", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_values_and_found_groups_are_what_people_have_and_one_moves_them_by_tau(tmp_path: Path, seed: int) -> None:
    policy, clinic = parse_policy(POLICY), Clinic(tmp_path, seed)
    finding = parse_policy(POLICY.replace("delta = 0.0", "delta = 1e-3") + "    town = { discover = true }\n")
    everybody = clinic.without(None)
    others = [clinic.without(person) for person in sampled(range(0, PEOPLE, 5), 1)]
    for sql in (*sampled(OWNED, 4), *sampled(FOUND, 2)):
        contract = finding if sql in FOUND else policy
        whole, taus = values_at(everybody, sql, contract, contributions=True)
        units, _ = values_at(everybody, sql, contract, contributions=False)
        shown = {group for group, cells in units.items() if sql not in FOUND or any(one.any() for one in cells)}
        assert whole.keys() == shown, sql
        for group, cells in whole.items():
            assert all((one == other).all() for one, other in zip(cells, units[group], strict=True)), sql
        assert any(one.any() for cells in whole.values() for one in cells), sql
        for other in others:
            less, _ = values_at(other, sql, contract, contributions=True)
            assert less.keys() <= whole.keys(), sql
            for group, cells in whole.items():
                left = less.get(group, [np.zeros_like(one) for one in cells])
                for more, fewer, most in zip(cells, left, taus, strict=True):
                    assert (more >= fewer).all() and (more - fewer <= most).all(), sql


def test_one_person_moves_a_sum_of_distinct_values_by_tau_at_most(tmp_path: Path) -> None:
    """Whoever else has the same values."""
    policy, clinic = parse_policy(POLICY), Clinic(tmp_path, 3)
    everybody = clinic.without(None)
    others = [clinic.without(person) for person in range(0, PEOPLE, 8)]
    schema = everybody.schema()

    def sums(backend: DuckdbBackend, sql: str) -> dict[object, Cells]:
        plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=None, mechanism=None)
        domain, found = backend.read(rewrite(plan, dialect="duckdb", schema=schema))
        made = zip(plan.releases, found.distinct, strict=True)
        answers = [solved(truncated(one, 0, plan.thresholds(release), 0.0), plan.thresholds(release))
                   for release, one in made if one is not None]  # fmt: skip
        taus[sql] = [most for _, most in answers]
        return {group: [cells[place] for cells, _ in answers] for place, group in enumerate(domain.groups)}

    taus: dict[str, Cells] = {}
    for sql in ADDED:
        whole = sums(everybody, sql)
        assert any(one.any() for cells in whole.values() for one in cells), sql
        for other in others:
            less = sums(other, sql)
            for group, cells in whole.items():
                left = less.get(group, [np.zeros_like(one) for one in cells])
                for more, fewer, most in zip(cells, left, taus[sql], strict=True):
                    assert (more >= fewer).all() and (more - fewer <= most).all(), sql


def test_values_that_people_may_share_are_read_person_by_person(tmp_path: Path) -> None:
    """A false histogram would count a value once per person who has it."""
    backend, policy = Clinic(tmp_path, 0).without(None), parse_policy(POLICY)
    schema = backend.schema()
    for sql in SHARED:
        plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=None, mechanism=None)
        assert (
            not any(map(plan.counts_contributions_of, plan.releases)) and "no unit's key leaves it" not in plan.reason
        ), sql
        assert rewrite(plan, dialect="duckdb", schema=schema).distinct_contributions == (), sql
