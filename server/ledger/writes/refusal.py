"""The refusal of a charge that does not fit: which account is short, what is left, and what still fits."""

from __future__ import annotations

from privacy.accounting import amounts
from server.errors import BudgetExhausted, QueryTooExpensive
from server.ledger.account import DATASET, analyst_account
from server.ledger.balance import Balance
from server.ledger.charge import Charge
from server.ledger.currency import charged_delta, charged_epsilon, epsilon_of
from server.ledger.terms import day_of

OF_DATASET = " for the dataset as a whole"
"""Names the account of all analysts together."""

_FREE = "What you have paid for stays free, and so does what it determines, such as a total of its groups."


def exhausted(charge: Charge, short: tuple[Balance, ...], paying: tuple[Balance, ...]) -> BudgetExhausted:
    """The refusal of a charge. It names the first account that is short; the hint names amounts that fit all
    accounts.

    Cost: tens of milliseconds per zCDP or Renyi account, so never within a write.
    """
    first = short[0]
    wanted, left = _wanted(charge, first)
    fits = _fitting(charge, paying)
    return BudgetExhausted(
        f"The query asks for {' and '.join(wanted)}, but only {' and '.join(left)} is left{_of(charge, first)}.",
        hint=" ".join(
            filter(None, (fits, _renewing(short), _granting(charge, short, fits), None if fits else _FREE))
        ),
    )


def check_caps(charge: Charge, paying: tuple[Balance, ...]) -> None:
    """Raises: QueryTooExpensive for a charge above an account's cap on single queries."""
    for one in paying:
        cap = one.terms.nano_cap
        if cap is not None and charged_epsilon(charge.epsilon) > cap:
            most = epsilon_of(cap)
            raise QueryTooExpensive(
                f"The query asks for epsilon {charge.epsilon!r}, but one query may spend at most epsilon {most!r}"
                f"{_of(charge, one)}.",
                hint=f"Ask with epsilon {most!r} or less.",
            )


def _wanted(charge: Charge, account: Balance) -> tuple[list[str], list[str]]:
    """The amounts that exceed the balance, and what is left of them."""
    epsilon_left = account.epsilon_left()
    delta_short = _delta_short(charge, account)
    epsilon_short = _above(charge.epsilon, epsilon_left)
    wanted, left = [], []
    if epsilon_short or not delta_short:
        wanted.append(f"epsilon {charge.epsilon!r}")
        left.append(f"epsilon {epsilon_left!r}")
    if delta_short:
        wanted.append(f"delta {charge.delta!r}")
        left.append(f"delta {account.delta_left!r}")
    return wanted, left


def _renewing(short: tuple[Balance, ...]) -> str | None:
    """When the accounts that are short are renewed, if all of them renew by the calendar."""
    ends = [account.renews_at_ms for account in short if account.terms.renew is not None]
    if len(ends) < len(short) or None in ends:
        return None
    return f"It is renewed on {day_of(max(end for end in ends if end is not None))} (UTC)."


def _granting(charge: Charge, short: tuple[Balance, ...], fits: str | None) -> str | None:
    """Who can grant more, and how: if a delta is short, which few questions can do without, or if nothing fits."""
    stopped = next((account for account in short if account.is_clipped_by_total), None)
    if stopped is not None:
        return (
            f"All periods of {stopped.name} together have spent its total. An administrator can raise it:"
            " noisegate admin grant with --renew and a larger --most-in-total."
        )
    lacking = [account.name for account in short if _delta_short(charge, account)]
    if not lacking and fits is not None:
        return None
    more = f"--delta {charge.delta!r}" if lacking else f"--epsilon {_lacking_epsilon(charge, short[0])!r}"
    acts = " and ".join(f"noisegate admin top-up {name} {more}" for name in lacking or [short[0].name])
    return f"An administrator can grant more: {acts} (with --policy and --reason), or the administration page."


def _lacking_epsilon(charge: Charge, account: Balance) -> float:
    """The epsilon that makes the charge fit, including spending above a grant that was lowered."""
    if not isinstance(account.spent, amounts.Charge):
        return charge.epsilon
    beyond = max(0, account.spent.nano_epsilon - account.terms.nano_epsilon)
    return epsilon_of(beyond + charged_epsilon(charge.epsilon))


def _delta_short(charge: Charge, account: Balance) -> bool:
    return charge.delta > 0 and charged_delta(charge.delta) > charged_delta(account.delta_left)


def _fitting(charge: Charge, paying: tuple[Balance, ...]) -> str | None:
    """The most that fits all accounts, at the requested delta or the rest of it."""
    delta = min([charge.delta, *(account.delta_left for account in paying)])
    caps = [epsilon_of(cap) for account in paying if (cap := account.terms.nano_cap) is not None]
    epsilon = min([*(account.epsilon_left(delta) for account in paying), *caps])
    if epsilon <= 0:
        return None
    if 0 == delta < charge.delta:
        return (
            f"With delta 0 (`--delta 0`, `SET noisegate.delta = 0`) and more noise,"
            f" at most epsilon {epsilon!r} still fits."
        )
    fits = f"epsilon {epsilon!r}" + (f" and delta {delta!r}" if delta < charge.delta else "")
    return f"At most {fits} still fits."


def _above(epsilon: float, left: float) -> bool:
    return left == 0 or charged_epsilon(epsilon) > charged_epsilon(left)


def _of(charge: Charge, account: Balance) -> str:
    """Names the account, unless it is the analyst's own."""
    if account.name == analyst_account(charge.analyst):
        return ""
    return OF_DATASET if account.name == DATASET else " for the analyst's group"
