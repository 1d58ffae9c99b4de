"""What makes a budget last, each a switch: what it adds to a request, to the policy, or which endpoint it asks.

A lever whose switch the product does not have is not there: `missing` names it, and no figure is claimed for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from planner.errors import PolicyInvalid
from planner.policy.policy import parse_policy
from server.http.app import create_app
from server.ledger.ledger import Ledger
from server.query import QueryRequest
from server.reloadable_pipeline import ReloadablePipeline
from tests.benchmarks.budget.growing_data import GrowingData

WORKLOAD = "/v1/workload"

REUSE = "reuse"
ONLY_REUSE: Mapping[str, Any] = {REUSE: "only"}
"""What asks for an answer that follows from kept ones, or for none."""


@dataclass(frozen=True)
class Levers:
    """Which levers are on.

    Attributes:
      reuse: answers from answers: a question whose answer follows from kept ones is not measured.
      combination: a second release of a question is combined with the first, where both were cut alike.
      closed_periods: kept answers about closed periods survive a new load.
      workloads: the charts of a view are asked as one question of many, where that is said to gain.
    """

    reuse: bool = False
    combination: bool = False
    closed_periods: bool = False
    workloads: bool = False

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """All levers, in the order of their numbers."""
        return tuple(one.name for one in fields(cls))

    @classmethod
    def alone(cls, name: str) -> Levers:
        """One lever and no other."""
        return replace(cls(), **{name: True})

    @classmethod
    def but(cls, names: tuple[str, ...]) -> Levers:
        """All levers but these."""
        return cls(**{name: name not in names for name in cls.names()})

    def policy_text(self, data: GrowingData) -> str:
        """The policy: one of the levers is a promise in it."""
        return data.policy_text(closed_periods=self.closed_periods)

    def request(self) -> dict[str, Any]:
        """What a request says beside its question: what is derived or combined is asked for by name."""
        if REUSE not in _known():
            return {}
        return {REUSE: "auto" if self.reuse or self.closed_periods else "never"}

    def asked(self, analyst: str, sql: str, epsilon: float | None = None) -> QueryRequest:
        """A request with these levers."""
        return QueryRequest(analyst, sql, epsilon=epsilon, request_id="benchmark", **self.request())


def missing(data: GrowingData) -> tuple[str, ...]:
    """The levers that this product does not have a switch for."""
    absent = [] if REUSE in _known() else ["reuse", "combination"]
    try:
        parse_policy(Levers.alone("closed_periods").policy_text(data))
    except PolicyInvalid:
        absent.append("closed_periods")
    if WORKLOAD not in _paths():
        absent.append("workloads")
    return tuple(name for name in Levers.names() if name in absent)


def _known() -> set[str]:
    return {one.name for one in fields(QueryRequest)}


@cache
def _paths() -> frozenset[str]:
    nothing = cast("ReloadablePipeline", None)  # which is not asked
    app = create_app(nothing, cast("Ledger", SimpleNamespace(local=True)))
    return frozenset(app.openapi()["paths"])
