"""What EXPLAIN says of an answer that follows from others: for free with one accuracy, or anew with another."""

from __future__ import annotations

from server.question import Question
from server.reuse.derived import Derived


def reuse_explained(derived: Derived | None, question: Question, *, serves: bool) -> str | None:
    """Both ways, as sentences; None where nothing follows.

    Args:
      derived: what follows from the answers of who asks.
      question: that is asked.
      serves: is it served unasked?
    """
    if derived is None:
        return None
    plan = question.plan
    free = "; ".join(f"{width.label}: +-{width.free:.4g}" for width in derived.widths)
    fresh = "; ".join(f"{width.label}: {width.foreseen}" for width in derived.widths)
    served = "is served unless reuse = never" if serves else "is served where reuse = only"
    said = f"free: follows from {derived.which}, {free}. fresh: {fresh} at epsilon {plan.epsilon:g}, or more, as a"
    said += f" larger tau may be chosen. What is free {served}."
    return " ".join([said, *list(derived.notes())[1:]])
