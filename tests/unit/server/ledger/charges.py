"""Charges for tests."""

from __future__ import annotations

from server.ledger.charge import Charge


def charge(epsilon: float, delta: float = 0.0, analyst: str = "ada") -> Charge:
    return Charge(analyst, epsilon, delta, "request-1", "policy", "plan", "gem")
