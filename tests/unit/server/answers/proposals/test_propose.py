"""The smallest epsilon for an accuracy, from public quantities and released answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from planner.errors import InvalidSetting
from planner.plan import BackendQuery
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from privacy.entropy import OpendpEntropy
from privacy.mechanisms.bound_first import BoundFirst
from privacy.truncation.encode import encode
from server.answers.encoding import encoded
from server.answers.proposals.accuracy import Accuracy, Proposal
from server.answers.proposals.propose import propose
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import NoProposal
from server.query import QueryRequest
from server.question import Question, answer_key
from server.workers.measure import plan_measurements
from tests.support.backends import people
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import DEMO_POLICY, planned
from tests.support.released_plan import noisy_answer

COUNT = "SELECT count(*) FROM orders"
UNGROUPED = Domain(())
BOUNDED = DEMO_POLICY.read_text().replace("[tables.orders]", "[tables.orders]\nrows_per_unit = { customer = 64 }")


class PublicOnly:
    """A backend that knows public groups and would not tell anything else."""

    def domain(self, query: object) -> Domain:
        del query
        return Domain((("AFRICA", "ASIA"),))


@dataclass
class _Office:
    """Plans over the demonstration's schema."""

    policy: Policy = field(default_factory=lambda: parse_policy(DEMO_POLICY.read_text()))
    ledger: Any = field(default_factory=lambda: MemoryLedger({"ada": 10.0, "grace": 10.0}))
    backend: Any = field(default_factory=PublicOnly)
    planned: int = 0

    def groups(self, query: BackendQuery, analyst: str) -> Domain:
        domain: Domain = self.backend.domain(query)
        return domain

    def question(self, request: QueryRequest) -> Question:
        self.planned += 1
        settings = {
            "epsilon": request.epsilon,
            "mechanism": request.mechanism,
            "sampling_rate": request.sampling_rate,
        }
        plan = planned(request.sql, policy=self.policy, **settings)  # type: ignore[arg-type]
        measurements = plan_measurements(plan, self.policy)
        version: int = self.ledger.version
        return Question(plan, rewrite(plan), measurements, answer_key(plan, rewrite(plan), "day", version), version)

    def tell(
        self,
        analyst: str,
        sql: str,
        epsilon: float,
        values: list[float],
        tau: float,
        domain: Domain = UNGROUPED,
        reach: float = 1e9,
        signal: float = np.inf,
    ) -> None:
        """Charge an analyst for an answer within `reach`."""
        request = QueryRequest(analyst, sql, epsilon=epsilon)
        question = self.question(request)
        known = replace(
            noisy_answer(values, reach=reach, signal=[signal] * len(values)),
            tau=np.full(len(values), tau),
            epsilon=epsilon,
        )
        released = Released(domain, (known,) * len(question.measuring.releases))
        self.ledger.commit(self.ledger.reserve(question.charge(request)), encoded(released))

    def propose(self, sql: str = COUNT, analyst: str = "ada", **accuracy: float) -> Proposal:
        return propose(cast(Any, self), QueryRequest(analyst, sql), Accuracy(**accuracy))


Office: Any = _Office
"""As `Planning`, of which it has what a proposal needs."""


def bounded() -> Any:
    return Office(parse_policy(BOUNDED))


def half_width(office: Any, epsilon: float, tau: float) -> float:
    (measured,) = office.question(QueryRequest("ada", COUNT, epsilon=epsilon)).measuring.releases
    width: float = dict(measured.expected_noise(1))[tau]
    return width


def test_a_declared_bound_is_enough_without_an_answer() -> None:
    office = bounded()
    proposal = office.propose(interval_width=2000.0)
    assert proposal.basis == "public" and "64 rows" in proposal.reason
    assert 2 * half_width(office, proposal.epsilon, 64.0) <= 2000.0
    assert 2 * half_width(office, proposal.epsilon * 0.98, 64.0) > 1998.0  # a count is rounded outward
    assert proposal.charge == proposal.epsilon
    assert proposal.relative_error is None
    assert office.ledger.charged == []


def test_noise_that_the_number_of_found_groups_decides_is_not_promised() -> None:
    """A count is bounded in all groups together; values are counted in each of them with a part of epsilon."""
    text = BOUNDED.replace("delta = 0.0", "delta = 1e-6")
    office = Office(parse_policy(f"{text}\n[tables.orders.columns]\no_orderpriority = {{ discover = true }}\n"))
    per_priority = "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1"
    assert office.propose(per_priority, interval_width=4000.0).basis == "public"
    with pytest.raises(NoProposal, match="not been released"):
        office.propose(per_priority.replace("count(*)", "count(DISTINCT o_clerk)"), interval_width=4000.0)


def test_what_it_proposes_holds() -> None:
    office = bounded()
    proposal = office.propose(interval_width=2000.0)
    request = QueryRequest("ada", COUNT, epsilon=proposal.epsilon)
    (measured,) = office.question(request).measuring.releases
    assert isinstance(measured, BoundFirst)

    tuples = encode(people(1000))
    for _ in range(20):
        noisy = measured.release(tuples, 0, OpendpEntropy())
        assert noisy.high[0] - noisy.low[0] <= 2000.0


def test_without_a_bound_or_an_answer_nothing_is_promised() -> None:
    with pytest.raises(NoProposal, match="not been released") as refused:
        Office().propose(interval_width=100.0)
    assert refused.value.hint is not None and "small epsilon" in refused.value.hint


def test_an_answer_that_was_paid_for_says_which_threshold_to_expect() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    proposal = office.propose(max_relative_error=0.01)
    assert proposal.basis == "released" and "charge 1" in proposal.reason
    assert half_width(office, proposal.epsilon, 16.0) <= 150.0 < half_width(office, proposal.epsilon * 0.97, 16.0)
    assert proposal.relative_error == pytest.approx(0.01, rel=0.02)
    assert proposal.epsilon_left == 9.9


def test_nobody_elses_answer_is_used() -> None:
    office = Office()
    office.tell("grace", COUNT, 0.1, [15_000.0], 16.0)
    with pytest.raises(NoProposal):
        office.propose(max_relative_error=0.01)


def test_an_answer_that_is_good_enough_is_free() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.5, [15_000.0], 16.0, reach=0.5)
    proposal = office.propose(interval_width=2.0)
    assert (proposal.basis, proposal.epsilon, proposal.charge) == ("kept", 0.5, 0.0)


def test_after_new_data_an_old_answer_is_a_guess_and_not_free() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.5, [15_000.0], 16.0)
    office.ledger.version = 2
    proposal = office.propose(interval_width=500.0)
    assert (proposal.basis, proposal.charge) == ("released", proposal.epsilon)


def test_the_worst_group_counts() -> None:
    sql = (
        "SELECT r_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey "
        "JOIN region ON n_regionkey = r_regionkey GROUP BY r_name"
    )
    office = Office()
    domain = Domain((("AFRICA", "ASIA"),))
    office.tell("ada", sql, 0.1, [3000.0, 300.0], 1.0, domain)
    both = office.propose(sql, max_relative_error=0.05)
    office.tell("ada", sql, 0.1001, [3000.0, 3000.0], 1.0, domain)
    assert office.propose(sql, max_relative_error=0.05).epsilon < both.epsilon


def test_a_quotient_needs_an_answer_even_with_a_bound() -> None:
    lines = "[tables.lineitem]\nrows_per_unit = { customer = 64 }\n[tables.lineitem.columns]"
    office = Office(parse_policy(BOUNDED.replace("[tables.lineitem.columns]", lines)))
    sql = "SELECT sum(l_quantity) / count(*) FROM lineitem"
    with pytest.raises(NoProposal, match="not been released"):
        office.propose(sql, interval_width=1.0)
    office.tell("ada", sql, 0.1, [50_000.0], 64.0)
    assert office.propose(sql, interval_width=1.0).basis == "released"


def test_what_no_epsilon_reaches_is_refused() -> None:
    with pytest.raises(NoProposal, match="epsilon 4"):
        bounded().propose(interval_width=1.0)


def test_one_sided_and_sampled_answers_are_refused() -> None:
    cases: list[dict[str, Any]] = [{"mechanism": "r2t"}, {"sampling_rate": 0.5}]
    for settings in cases:
        with pytest.raises(NoProposal, match="two-sided"):
            propose(bounded(), QueryRequest("ada", COUNT, **settings), Accuracy(interval_width=2000.0))


def test_an_accuracy_is_one_positive_number() -> None:
    for wrong in ({}, {"interval_width": 1.0, "max_relative_error": 0.1}, {"interval_width": 0.0}):
        with pytest.raises(InvalidSetting):
            Accuracy(**wrong)


def test_a_weak_answer_is_strong_at_the_epsilon_that_makes_it_so() -> None:
    office = Office()
    reach = half_width(office, 0.1, 16.0)
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0, reach=reach, signal=1 / 3)
    enough = 0.1 * 9  # so many times the signal: a twelfth of the value may then be missing
    assert office.propose(max_relative_error=0.5).epsilon == pytest.approx(enough, rel=0.05)


def test_an_answer_that_stays_weak_says_so() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0, reach=half_width(office, 0.1, 16.0), signal=0.01)
    with pytest.raises(NoProposal, match="too imprecise") as refused:
        office.propose(max_relative_error=0.5)
    assert refused.value.hint is not None and "larger epsilon than 0.1" in refused.value.hint


def test_an_accuracy_that_no_number_can_be_divided_by_is_refused() -> None:
    for wanted in [5e-324, 1e-101]:
        for name in ("interval_width", "max_relative_error", "max_absolute_error"):
            with pytest.raises(InvalidSetting, match="at least 1e-100"):
                Accuracy(**{name: wanted})
