"""What an account protects people at, as a sentence: per period and in total, wherever a budget is shown."""

from __future__ import annotations

import math

from server.ledger.account import AccountBalance, PeriodsSoFar

_DAY_S = 86_400


def guarantee(account: AccountBalance) -> str:
    """At which epsilon, and delta, answers that the account has paid for protect a person who is in all of the data.

    Returns: a sentence; `epsilon 10 per month; by the end of 2026-11 epsilon 23 over all periods; at most epsilon 50
      in total`. What `noisegate tune` has told everybody stands behind it, as it adds to all of that.
    """
    answers, tuning = _of_answers(account), account.tuning_epsilon
    return f"{answers}; and {_amount(tuning, 0.0)} of tuning, once, in addition" if tuning else answers


def _of_answers(account: AccountBalance) -> str:
    grant = account.grant
    whole = _amount(grant.epsilon, grant.delta)
    if grant.window_s is not None:
        every = f"{grant.window_s / _DAY_S:.6g} days" if grant.window_s >= _DAY_S else f"{grant.window_s} seconds"
        return f"{whole} in every {every}; in total nothing bounds it: k windows are k budgets"
    if account.periods is None:
        return f"{whole} in total"
    if grant.renew is None:
        return f"{whole} from now on, and {_past(account.periods)} before it"
    return f"{whole} per {grant.renew}; {_so_far(account.periods)}; {_most(account.periods)}"


def total_left(account: AccountBalance) -> str | None:
    """What to say where the total of all periods leaves the present one less than the grant."""
    periods = account.periods
    if periods is None or account.grant.renew is None or periods.epsilon >= account.grant.epsilon:
        return None
    left = _amount(periods.epsilon, periods.delta)
    return f"all periods may come to epsilon {_text(periods.most_in_total)}, which leaves this one {left}"


def _so_far(periods: PeriodsSoFar) -> str:
    total = _amount(periods.total_epsilon, periods.total_delta)
    return f"by the end of {periods.name} at most {total} over all periods"


def _past(periods: PeriodsSoFar) -> str:
    return _amount(periods.past_epsilon, periods.past_delta)


def _most(periods: PeriodsSoFar) -> str:
    if math.isinf(periods.most_in_total):
        return "in total nothing bounds it: k periods are k budgets"
    return f"at most {_amount(periods.most_in_total, periods.most_delta_in_total)} in total, where renewal stops"


def _amount(epsilon: float, delta: float) -> str:
    return f"epsilon {_text(epsilon)}" + (f", delta {_text(delta)}" if delta else "")


def _text(value: float) -> str:
    return f"{value:.6g}"
