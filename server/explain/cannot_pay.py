"""That no account can pay for a question, said before it is asked; and whether it fits without a delta."""

from __future__ import annotations

from collections.abc import Callable

from planner.errors import PlannerError
from server.errors import BudgetExhausted, ServerError
from server.ledger.writes.refusal import OF_DATASET
from server.query import CannotPay

_OF_MOST, _FITS = "With delta 0 ", "still fits. "
"""What the refusal says of most questions, and how that ends."""

UNLESS_KEPT = "Where another analyst has its answer, the dataset does not pay, and it is given for your own budget."

WITHOUT_DELTA = "Asked without a delta it fits, at more noise."


def cannot_pay(
    refusal: ServerError | None, delta: float, without_delta: Callable[[], ServerError | None]
) -> CannotPay | None:
    """How the ledger would refuse a question; None where it would not.

    Args:
      refusal: by the ledger, of the question as it is asked; None where all accounts can pay.
      delta: what it would spend.
      without_delta: how the ledger would refuse the same question with a delta of 0; called only where it matters.
        Raises: PlannerError where it cannot be asked so.
    """
    if refusal is None:
        return None
    hint = refusal.hint or ""
    if OF_DATASET in refusal.message:
        hint = f"{hint} {UNLESS_KEPT}".strip()
    if not delta or not isinstance(refusal, BudgetExhausted):
        return CannotPay(refusal.message, hint)
    if hint.startswith(_OF_MOST):  # here it is known of this very question
        hint = hint.partition(_FITS)[2]
    try:
        if without_delta() is None:
            return CannotPay(refusal.message, f"{WITHOUT_DELTA} {hint}", without_delta=True)
    except PlannerError as error:
        instead = (error.hint or "").rpartition("; or ")[
            2
        ]  # the hint begins with who grants a delta, which follows here
        instead = f" {instead[0].upper()}{instead[1:]}." if instead else ""
        return CannotPay(refusal.message, f"This question needs a delta: {error.message}.{instead} {hint}".rstrip())
    return CannotPay(refusal.message, hint)
