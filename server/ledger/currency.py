"""Amounts as exact whole numbers: what a charge costs an account, and what still fits.

Epsilon is counted in nano (1e-9) and delta in atto (1e-18). Charges are rounded up, grants and balances down, so
every rounding favours the people in the data. Sums are exact, so no order of charges overspends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache, reduce
from typing import Any, cast

from planner.errors import InvalidSetting
from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import RenyiSpent, Spent, ZCDPSpent
from privacy.accounting.basic import BasicAccountant, BudgetFilter
from privacy.accounting.event import UNBOUNDED, ApproxDP, PrivacyEvent, PureDP
from privacy.accounting.filters import Accountant, AnyFilter, build_filter, largest_epsilon
from privacy.accounting.renyi import RenyiAccountant
from privacy.accounting.zcdp import ZCDPAccountant
from privacy.errors import InvalidParameter
from server.ledger.account import Accounting
from server.ledger.charge import Charge

MAX_EPSILON = 1e9
"""The largest epsilon: 1e18 nano, within a signed 64-bit integer."""

_EPSILON_DIGITS = 9
_DELTA_DIGITS = 18


def charged_epsilon(epsilon: float) -> int:
    """Convert the epsilon of a charge to whole multiples of 1e-9, rounded up.

    Raises: InvalidSetting for an epsilon outside (0, MAX_EPSILON].
    """
    return _units(_checked_epsilon(epsilon), _EPSILON_DIGITS, ROUND_CEILING)


def charged_delta(delta: float) -> int:
    """Convert the delta of a charge, in [0, 1), to whole multiples of 1e-18, rounded up. Raises InvalidSetting."""
    return _units(_checked_delta(delta), _DELTA_DIGITS, ROUND_CEILING)


def granted_epsilon(epsilon: float) -> int:
    """Convert the epsilon of a grant to whole multiples of 1e-9, rounded down.

    Raises: InvalidSetting for an epsilon outside [1e-9, MAX_EPSILON].
    """
    nano = _units(_checked_epsilon(epsilon), _EPSILON_DIGITS, ROUND_FLOOR)
    if not nano:
        raise InvalidSetting("the epsilon of a budget must be at least 1e-9")
    return nano


def granted_delta(delta: float) -> int:
    """Convert the delta of a grant, in [0, 1), to whole multiples of 1e-18, rounded down. Raises InvalidSetting."""
    return _units(_checked_delta(delta), _DELTA_DIGITS, ROUND_FLOOR)


def epsilon_of(nano: int) -> float:
    """Convert multiples of 1e-9 to an epsilon: the largest float that is charged as at most `nano`."""
    return _float_at_most(Decimal(nano).scaleb(-_EPSILON_DIGITS))


def delta_of(atto: int) -> float:
    """Convert multiples of 1e-18 to a delta: the largest float that is charged as at most `atto`."""
    return _float_at_most(Decimal(atto).scaleb(-_DELTA_DIGITS))


def _checked_epsilon(epsilon: float) -> float:
    if not (math.isfinite(epsilon) and 0 < epsilon <= MAX_EPSILON):
        raise InvalidSetting(f"epsilon must be above 0 and at most {MAX_EPSILON:g}.")
    return epsilon


def _checked_delta(delta: float) -> float:
    if not (math.isfinite(delta) and 0 <= delta < 1):
        raise InvalidSetting("delta must be at least 0 and below 1.")
    return delta


def _units(amount: float, digits: int, rounding: str) -> int:
    """Convert through repr, so that 0.1 means one tenth and not the binary fraction slightly above it."""
    return int(Decimal(repr(float(amount))).scaleb(digits).to_integral_value(rounding))


def _float_at_most(amount: Decimal) -> float:
    nearest = float(amount)
    return nearest if Decimal(repr(nearest)) <= amount else math.nextafter(nearest, 0.0)


# The three accountants, filters and amounts go together: all follow from the accounting. The type checker cannot
# know that, hence Any.
_ACCOUNTANTS: dict[str, Accountant[Any]] = {
    "basic": BasicAccountant(),
    "zcdp": ZCDPAccountant(),
    "renyi": RenyiAccountant(),
}


def nothing(accounting: Accounting) -> Spent:
    """The spending of a new account."""
    return cast(Spent, _ACCOUNTANTS[accounting].nothing)


def amount_of(accounting: Accounting, charge: Charge) -> Spent:
    """The cost of a charge in an account's currency, rounded up.

    By basic composition that is (epsilon, delta), whatever the event.
    Raises: InvalidSetting for an epsilon or delta out of range, and for an event without a composition rule.
    """
    amount = Amount(charged_epsilon(charge.epsilon), charged_delta(charge.delta))
    if accounting == "basic":
        return amount
    try:
        return _event_amount(accounting, charge.event or least_known(charge.epsilon, charge.delta))
    except InvalidParameter as error:
        raise InvalidSetting(f"This query cannot be charged: {error}.") from error


def least_known(epsilon: float, delta: float) -> PrivacyEvent:
    """The privacy event of a release of which only (epsilon, delta) is known."""
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def admits(accounting: Accounting, granted: tuple[int, int, int], spent: Spent, amount: Spent) -> bool:
    """Whether the grant can pay an amount on top of the spending.

    Args:
      granted: epsilon in multiples of 1e-9, delta in multiples of 1e-18, and the part of that delta for events that
        have a delta of their own.
    """
    return cast(Any, _filter(accounting, *granted)).admits(spent, amount)  # type: ignore[no-any-return]


def plus(spent: Spent, amount: Spent) -> Spent:
    """Add two amounts of one currency."""
    return cast(Spent, cast(Any, spent) + amount)


def less(spent: Spent, amount: Spent) -> Spent:
    """Subtract an amount that is given back. Spending beyond every bound stays there.

    Raises: InvalidParameter if the amount is not of the same currency.
    """
    atto = spent.atto_delta - amount.atto_delta
    if isinstance(spent, Amount) and isinstance(amount, Amount):
        return Amount(spent.nano_epsilon - amount.nano_epsilon, atto)
    if isinstance(spent, ZCDPSpent) and isinstance(amount, ZCDPSpent):
        return ZCDPSpent(_femto_less(spent.femto_rho, amount.femto_rho), atto)
    if isinstance(spent, RenyiSpent) and isinstance(amount, RenyiSpent) and spent.orders == amount.orders:
        femto = tuple(map(_femto_less, spent.femto, amount.femto))
        return RenyiSpent(femto, atto, spent.orders)
    raise InvalidParameter("only an amount of the same currency is given back")


def mean_times(amounts: Sequence[Spent], times: int, questions: int) -> Spent:
    """Multiply the mean cost of `questions` questions by `times`, rounded up; some of them may have been free."""
    total = reduce(plus, amounts)

    def scaled(amount: int) -> int:
        return min(UNBOUNDED, -(-amount * times // questions))

    atto = -(-total.atto_delta * times // questions)
    if isinstance(total, Amount):
        return Amount(-(-total.nano_epsilon * times // questions), atto)
    if isinstance(total, ZCDPSpent):
        return ZCDPSpent(scaled(total.femto_rho), atto)
    return RenyiSpent(tuple(map(scaled, total.femto)), atto, total.orders)


@lru_cache(maxsize=4096)
def epsilon_left(accounting: Accounting, granted: tuple[int, int, int], spent: Spent, delta: float) -> float:
    """The largest epsilon of one more query with this delta that fits, to 1e-9; 0.0 for none."""
    budget = _filter(accounting, *granted)
    if isinstance(budget, BudgetFilter) and isinstance(spent, Amount):
        left = budget.left(spent)
        return epsilon_of(left.nano_epsilon) if charged_delta(delta) <= left.atto_delta else 0.0
    at_most = epsilon_of(granted[0])
    return largest_epsilon(cast(Any, budget), spent, lambda epsilon: least_known(epsilon, delta), at_most)


def check_filter(accounting: Accounting, nano_epsilon: int, atto_delta: int, event_atto: int) -> None:
    """Raises InvalidParameter if no privacy filter exists for a budget; `event_atto` is the delta for events."""
    if accounting == "basic" and event_atto:
        raise InvalidParameter("basic composition keeps no part of delta apart")
    _filter(accounting, nano_epsilon, atto_delta, event_atto)


@lru_cache(maxsize=1024)
def _filter(accounting: Accounting, nano_epsilon: int, atto_delta: int, event_atto: int) -> AnyFilter:
    if accounting == "basic":
        return BudgetFilter(Amount(nano_epsilon, atto_delta))
    return build_filter(accounting, epsilon_of(nano_epsilon), delta_of(atto_delta), delta_of(event_atto))


@lru_cache(maxsize=1024)
def _event_amount(accounting: Accounting, event: PrivacyEvent) -> Spent:
    return cast(Spent, _ACCOUNTANTS[accounting].charge(event))


def _femto_less(spent: int, amount: int) -> int:
    return UNBOUNDED if spent == UNBOUNDED else spent - amount
