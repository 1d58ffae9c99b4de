"""Which solver is tried first: the fast ones, or cvxpy's. Every point is certified, whichever solver found it."""

from __future__ import annotations

from typing import Literal

SolverName = Literal["certified", "reference"]
