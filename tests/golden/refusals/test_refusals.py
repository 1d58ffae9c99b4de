"""Every refusal names the construct, points at it, and hints at something that works."""

from __future__ import annotations

import pytest

from tests.golden.refusals.cases import REFUSALS
from tests.golden.refusals.refusal import Refusal
from tests.golden.tpch.queries import outcome


def _name(refusal: Refusal) -> str:
    return refusal.sql[:70]


@pytest.mark.parametrize("refusal", REFUSALS, ids=_name)
def test_names_the_construct_and_its_place(refusal: Refusal) -> None:
    error = outcome(refusal.sql).refusal
    assert type(error) is refusal.error, error
    assert refusal.says.lower() in error.message.lower()
    assert error.position is not None
    assert refusal.sql[error.position - 1 :] == refusal.sql[refusal.position - 1 :], error


@pytest.mark.parametrize("refusal", [case for case in REFUSALS if case.hints], ids=_name)
def test_the_hint_works_when_followed(refusal: Refusal) -> None:
    error = outcome(refusal.sql).refusal
    assert error is not None and error.hint is not None and refusal.hints is not None
    assert refusal.hints.lower() in error.hint.lower()
    if refusal.instead is not None:
        assert outcome(refusal.instead).refusal is None


def test_there_are_many() -> None:
    assert len({refusal.sql for refusal in REFUSALS}) == len(REFUSALS) >= 60
    assert sum(refusal.instead is not None for refusal in REFUSALS) >= 20
