"""Every mechanism of the registry, on the whole way: planned, measured, explained, and offered at each door."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from planner.errors import InvalidSetting
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import ColumnPolicy, DeclaredForeignKey, Policy
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.rewriting.rewrite import rewrite
from planner.schema import Dialect
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.registry import COMPARISON, MECHANISMS, OFFERED, KeyMechanism
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.cli.main import app
from server.explain.mechanism_reasons import release_mechanisms
from server.http.query_body import QueryBody
from server.pgwire.settings import Settings
from server.workers.measure import measure, plan_measurements
from tests.support.planning import bound, demo_policy
from tests.support.tpch_schema import tpch_schema
from tests.unit.server.http.fakes import send

SQL = "SELECT o_clerk, count(*) FROM orders GROUP BY 1"
PEOPLE_SQL = "SELECT o_clerk, count(DISTINCT o_custkey) FROM orders GROUP BY 1"
SEGMENTS = ("BUILDING", "MACHINERY", "HOUSEHOLD")
PEOPLE = 3_000


@dataclass(frozen=True)
class OneRowEach:
    """As many people in each segment."""

    dialect: ClassVar[Dialect] = "postgres"

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("measuring reads everything at once")

    def check_schema(self, fingerprint: str) -> None:
        raise AssertionError("nobody asks whether it is there")

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        raise AssertionError("no public query is asked here")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        people = np.arange(PEOPLE)
        owner = OwnerColumn("customer", people, np.zeros(PEOPLE, bool))
        group = people % len(SEGMENTS)
        if query.distinct[0] is not None:
            counted = DistinctTuples((owner,), group, len(SEGMENTS), people)
            return Domain((SEGMENTS,)), QueryTuples(None, (counted,))
        join = JoinTuples((owner,), group, len(SEGMENTS), np.full((1, PEOPLE), ONE, np.int64))
        return Domain((SEGMENTS,)), QueryTuples(join, (None,))


def _policy() -> Policy:
    """One that allows every mechanism: a domain, a delta, and a global sensitivity."""
    policy = demo_policy()
    segments = replace(policy.tables["orders"], columns={"o_clerk": ColumnPolicy(domain=SEGMENTS)})
    orders = DeclaredForeignKey("orders", ("o_custkey",), "customer", ("c_custkey",), fanout=64)
    return replace(
        policy,
        tables={**policy.tables, "orders": segments},
        foreign_keys=(*policy.foreign_keys, orders),
        max_epsilon=100.0,
        delta=1e-3,
        global_sensitivity=1.0,
    )


def _plan(mechanism: str) -> Plan:
    policy = _policy()
    counts_people = isinstance(MECHANISMS.get(mechanism), KeyMechanism)
    asked = bound(PEOPLE_SQL if counts_people else SQL, policy=policy)
    return make_plan(asked, tpch_schema(), policy, epsilon=100.0, delta=None, mechanism=mechanism)


def test_an_offered_mechanism_is_planned_measured_and_explained() -> None:
    for name in OFFERED:
        plan = _plan(name)
        measuring = plan_measurements(plan, _policy())
        domain, (noisy,) = measure(OneRowEach(), rewrite(plan), measuring)
        assert (plan.mechanism, noisy.mechanism) == (name, name), name
        assert len(domain) == len(noisy.values) == len(SEGMENTS), name
        assert np.isfinite(noisy.low).all() and np.isfinite(noisy.values).all(), name
        assert not MECHANISMS[name].two_sided or np.isfinite(noisy.high).all(), name
        (explained,) = release_mechanisms(plan, measuring, len(SEGMENTS))
        assert (explained.mechanism, explained.reason) == (name, MECHANISMS[name].reason), name


def test_each_door_offers_the_same_names() -> None:
    description = send("GET", "/openapi.json", authorized=False).json()
    offered = description["components"]["schemas"]["QueryBody"]["properties"]["mechanism"]["anyOf"][0]["enum"]
    assert tuple(offered) == OFFERED
    assert OFFERED[:8] == ("gem", "r2t", "s4s", "group_lp", "l1_clip", "l2_clip", "pmsja", "s4s_vector")
    assert OFFERED[8:] == ("lpa", "fpa", "gs_r", "gs_s", "gs")
    own = Settings("ann", {})
    for name in OFFERED:
        assert QueryBody(sql=SQL, mechanism=name).request("ann", "1").mechanism == name
        own.set("noisegate.mechanism", name)
        assert own.of_question()["mechanism"] == name
        told = CliRunner().invoke(app, ["query", "--mechanism", name, "--no-such-option", SQL])
        assert "--mechanism" not in told.output and "--no-such-option" in told.output
    help_text = CliRunner().invoke(app, ["query", "--help"], terminal_width=200).output
    assert f"[{'|'.join(OFFERED)}]" in "".join(help_text.split())


def test_each_door_refuses_a_comparison_mechanism_with_its_reason() -> None:
    for name in COMPARISON:
        reason = COMPARISON[name]
        with pytest.raises(InvalidSetting, match="gem, r2t, s4s") as planned:
            _plan(name)
        assert planned.value.hint == reason, name
        with pytest.raises(InvalidSetting) as wire:
            Settings("ann", {}).set("noisegate.mechanism", name)
        assert wire.value.hint == reason, name
        assert reason in send("POST", "/v1/query", json={"sql": SQL, "mechanism": name}).text, name
        told = CliRunner().invoke(app, ["query", "--mechanism", name, SQL])
        assert told.exit_code == 2, name
        assert reason in " ".join(told.output.replace("│", " ").split()), name
