"""Which solver is asked first: the fast ones, or cvxpy's. Every point is certified alike, whoever found it."""

from __future__ import annotations

from typing import Literal

SolverName = Literal["certified", "reference"]
