"""Public parameters that many mechanisms have, and what each of them may be."""

from __future__ import annotations

from privacy.errors import InvalidParameter


def check_gap(gap: float) -> None:
    """Refuse a gap of solvers, eta, outside of [0, 1]. Raises: InvalidParameter."""
    if not 0 <= gap <= 1:
        raise InvalidParameter("a solver gap is between 0 and 1")


def check_groups(groups_per_unit: int | None) -> None:
    """Refuse an L0 below 1; None leaves it to the number of groups. Raises: InvalidParameter."""
    if groups_per_unit is not None and groups_per_unit < 1:
        raise InvalidParameter("a unit reaches at least one group")


def check_confidence(confidence: float) -> None:
    """Refuse the confidence of an interval outside of (0, 1). Raises: InvalidParameter."""
    if not 0 < confidence < 1:
        raise InvalidParameter("confidence is between 0 and 1")


def groups_reached(groups_per_unit: int | None, n_groups: int) -> int:
    """How many groups share a budget: L0, or all of them where L0 is None or more, and never less than 1.

    Raises: InvalidParameter for an L0 below 1.
    """
    check_groups(groups_per_unit)
    most = max(1, n_groups)
    return most if groups_per_unit is None else min(most, groups_per_unit)
