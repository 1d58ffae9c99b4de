"""How tables of verdicts say what a refusal says."""

from __future__ import annotations

from planner.errors import PlannerError


def place(text: str, refusal: PlannerError) -> str:
    """Where, what and what to write instead."""
    line = text.count("\n", 0, (refusal.position or 1) - 1) + 1
    at = f"line {line}: " if refusal.position else ""
    hint = f" ({refusal.hint})" if refusal.hint else ""
    return f"{at}{refusal.message}{hint}."
