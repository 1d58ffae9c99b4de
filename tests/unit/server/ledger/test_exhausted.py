from __future__ import annotations

from server.ledger.exhausted import exhausted
from tests.unit.server.ledger.charges import charge


def test_it_says_what_is_left_and_what_fits() -> None:
    error = exhausted(charge(1.0), nano_left=250_000_000, atto_left=0)
    assert error.message == "The query asks for epsilon 1.0, but only epsilon 0.25 is left."
    assert error.hint == "At most epsilon 0.25 still fits."


def test_an_exhausted_delta_is_named() -> None:
    error = exhausted(charge(0.1, delta=1e-6), nano_left=10**9, atto_left=10**11)
    assert error.message == "The query asks for delta 1e-06, but only delta 1e-07 is left."
    assert error.hint == "At most epsilon 1.0 and delta 1e-07 still fits."


def test_nothing_left_is_a_matter_for_the_custodian() -> None:
    assert exhausted(charge(1.0), nano_left=0, atto_left=0).hint == "Ask the custodian for a new budget."
