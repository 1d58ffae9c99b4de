"""Charges for tests."""

from __future__ import annotations

from typing import Any

from server.ledger.analyst import Act
from server.ledger.charge import Charge

ACT = Act("grace", "a test")


def charge(epsilon: float, delta: float = 0.0, analyst: str = "ada", **more: Any) -> Charge:
    return Charge(analyst, epsilon, delta, "request-1", "policy", "plan", "gem", **more)
