"""Every refusal names the construct, points at it, and hints at something that works."""

from __future__ import annotations

from tests.golden.refusal_lines import assert_plain_words
from tests.golden.refusals.cases import REFUSALS
from tests.golden.tpch.queries import outcome


def test_names_the_construct_and_its_place_in_plain_words() -> None:
    for refusal in REFUSALS:
        error = outcome(refusal.sql).refusal
        assert error is not None and type(error) is refusal.error, (refusal, error)
        assert refusal.says.lower() in error.message.lower(), refusal
        assert error.position is not None, refusal
        assert refusal.sql[error.position - 1 :] == refusal.sql[refusal.position - 1 :], (refusal, error)
        assert_plain_words(refusal.sql, error)


def test_the_hint_works_when_followed() -> None:
    for refusal in (case for case in REFUSALS if case.hints):
        error = outcome(refusal.sql).refusal
        assert error is not None and error.hint is not None and refusal.hints is not None
        assert refusal.hints.lower() in error.hint.lower(), refusal
        assert refusal.instead is None or outcome(refusal.instead).refusal is None, refusal
