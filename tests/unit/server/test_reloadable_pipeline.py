"""A reload takes over whole, or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import Policy
from server.errors import PolicyRejected, PolicyWeakened
from server.ledger.analyst import Act
from server.pipeline import Pipeline
from server.reloadable_pipeline import ReloadablePipeline
from server.startup.serve import reload_policy
from tests.support.planning import demo_policy


@dataclass(frozen=True)
class Under:
    """A pipeline of which only the policy counts."""

    policy: Policy


OLD, NEW = Under(demo_policy()), Under(replace(demo_policy(), max_epsilon=2.0))


def live(outcome: object) -> ReloadablePipeline:
    def renew(before: Pipeline, act: Act, confirmed: str | None) -> tuple[Pipeline, tuple[str, ...]]:
        assert (cast(object, before), act.by, confirmed) == (OLD, "ada", "hash")
        if isinstance(outcome, Exception):
            raise outcome
        return cast("tuple[Pipeline, tuple[str, ...]]", outcome)

    return ReloadablePipeline(cast(Any, OLD), renew)


def test_the_next_request_has_the_new_policy() -> None:
    pipeline = live((NEW, ("less",)))
    status = pipeline.reload(Act("ada"), "hash")
    assert cast(object, pipeline.current) is NEW
    assert (status.name, status.hash, status.changed, status.weaker) == ("demo", NEW.policy.hash, True, ("less",))


def test_who_watches_is_told_of_what_is_in_force() -> None:
    pipeline, told = live((NEW, ())), list[object]()
    pipeline.watch(told.append)
    pipeline.reload(Act("ada"), "hash")
    assert told == [NEW]
    refused = live(PolicyInvalid("tables.x: no such table"))
    refused.watch(told.append)
    with pytest.raises(PolicyRejected):
        refused.reload(Act("ada"), "hash")
    assert told == [NEW]


def test_the_same_policy_is_no_change() -> None:
    assert not live((OLD, ())).reload(Act("ada"), "hash").changed


def test_what_cannot_be_leaves_the_policy_before() -> None:
    cases: list[tuple[Exception, type[Exception]]] = [
        (PolicyInvalid("tables.x: no such table"), PolicyRejected),
        (PolicyWeakened("less"), PolicyWeakened),
    ]
    for error, told in cases:
        pipeline = live(error)
        with pytest.raises(told):
            pipeline.reload(Act("ada"), "hash")
        assert cast(object, pipeline.current) is OLD, error


def test_a_signal_does_not_stop_the_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    def renew(*_: object) -> tuple[Pipeline, tuple[str, ...]]:
        raise PolicyInvalid("tables.x: no such table")

    reload_policy(ReloadablePipeline(cast(Any, OLD), renew))
    said = capsys.readouterr()
    assert "tables.x" in said.out + said.err
