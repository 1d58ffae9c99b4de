"""How a charge that does not fit is refused: what is left, and the most that would still fit."""

from __future__ import annotations

from server.errors import BudgetExhausted
from server.ledger.amounts import charged_delta, charged_epsilon, delta_of, epsilon_of
from server.ledger.charge import Charge


def exhausted(charge: Charge, nano_left: int, atto_left: int) -> BudgetExhausted:
    """The refusal of a charge.

    Args:
      charge: a charge of which epsilon, delta or both do not fit.
      nano_left, atto_left: what is left, in nano-epsilon and atto-delta.
    Returns: an error whose hint names amounts that fit exactly.
    """
    epsilon_short = charged_epsilon(charge.epsilon) > nano_left
    delta_short = charged_delta(charge.delta) > atto_left
    wanted, left, fits = [], [], []
    if epsilon_short:
        wanted.append(f"epsilon {charge.epsilon!r}")
        left.append(f"epsilon {epsilon_of(nano_left)!r}")
    if delta_short:
        wanted.append(f"delta {charge.delta!r}")
        left.append(f"delta {delta_of(atto_left)!r}")
    if nano_left > 0:
        fits.append(f"epsilon {epsilon_of(nano_left)!r}")
        fits += [f"delta {delta_of(atto_left)!r}"] if delta_short else []
    return BudgetExhausted(
        f"The query asks for {' and '.join(wanted)}, but only {' and '.join(left)} is left.",
        hint=f"At most {' and '.join(fits)} still fits." if fits else "Ask the custodian for a new budget.",
    )
