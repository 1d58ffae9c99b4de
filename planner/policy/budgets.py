"""What the policy grants by default: to the dataset when its ledger is made, to an analyst who is added."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

ACCOUNTINGS = ("basic", "zcdp", "renyi")

RENEWALS = ("day", "week", "month", "quarter", "year")
"""Periods of the calendar, in UTC; weeks begin on Monday."""

UNLIMITED = "unlimited"
"""What the policy writes where nothing is to bound what is learned over all periods: silence does not say it."""


@dataclass(frozen=True)
class BudgetPolicy:
    """One default. A later change of it changes no account that there is: that is an act with a reason.

    Attributes:
      epsilon, delta: of the whole budget.
      accounting: how its charges add up, one of ACCOUNTINGS; fixed when an account is made.
      event_delta: zCDP and Renyi: the part of delta that is kept for questions that have a delta themselves.
      window_days: after so many days it starts again from nothing, or None: never. With windows nothing bounds what
        is learned over all time.
      per_query_epsilon: the most that one query may take from it, or None.
      renew: it starts again from nothing with each such period, one of RENEWALS, or None: never.
      most_in_total: with `renew`: the epsilon that all periods may come to; infinity where the policy says UNLIMITED;
        None without.
    """

    epsilon: float
    delta: float = 0.0
    accounting: str = "basic"
    window_days: float | None = None
    per_query_epsilon: float | None = None
    event_delta: float = 0.0
    renew: str | None = None
    most_in_total: float | None = None


@dataclass(frozen=True)
class Budgets:
    """The defaults.

    Attributes:
      analyst: for an analyst who is added without an epsilon, or None: an epsilon must be given.
      dataset: for all analysts together, or None: nothing bounds what they learn together but their own budgets.
    """

    analyst: BudgetPolicy | None = None
    dataset: BudgetPolicy | None = None


def read_budgets(section: TomlSection) -> Budgets:
    """The section `budgets`. Raises: PolicyInvalid."""
    names = section.names()
    analyst = _budget(section.section("analyst")) if "analyst" in names else None
    dataset = _budget(section.section("dataset")) if "dataset" in names else None
    section.finish()
    return Budgets(analyst, dataset)


def _budget(section: TomlSection) -> BudgetPolicy:
    budget = BudgetPolicy(
        epsilon=section.number("epsilon"),
        delta=section.number("delta", 0.0),
        accounting=section.choice("accounting", ACCOUNTINGS, "basic"),
        window_days=section.number_or_none("window_days"),
        per_query_epsilon=section.number_or_none("per_query_epsilon"),
        event_delta=section.number("event_delta", 0.0),
        renew=section.choice_or_none("renew", RENEWALS),
        most_in_total=_most_in_total(section),
    )
    section.finish()
    for setting, value in (
        ("epsilon", budget.epsilon),
        ("window_days", budget.window_days),
        ("per_query_epsilon", budget.per_query_epsilon),
    ):
        if value is not None and value <= 0:
            raise section.problem(setting, "must be positive")
    if not 0 <= budget.delta < 1:
        raise section.problem("delta", "must be at least 0 and below 1")
    if budget.accounting != "basic" and budget.delta == 0:
        raise section.problem("delta", f"must be above 0 to count in {budget.accounting}")
    if budget.event_delta and not 0 < budget.event_delta < (budget.delta if budget.accounting != "basic" else 0):
        raise section.problem("event_delta", "must be a part of delta, of a budget that counts in zcdp or renyi")
    _check_renewal(section, budget)
    return budget


def _most_in_total(section: TomlSection) -> float | None:
    """A number, or what stands for none. Raises: PolicyInvalid."""
    most = section.number_or_word("most_in_total", UNLIMITED)
    return math.inf if isinstance(most, str) else most


def _check_renewal(section: TomlSection, budget: BudgetPolicy) -> None:
    """A renewed budget protects per period: the policy says at which total a person may end."""
    if budget.renew is None:
        if budget.most_in_total is not None:
            raise section.problem("most_in_total", "is for a budget with `renew`")
        return
    if budget.window_days is not None:
        raise section.problem("renew", "cannot stand beside window_days: choose one")
    if budget.most_in_total is None:
        what = f'must say what epsilon all periods may come to, a number or "{UNLIMITED}", beside `renew`'
        raise section.problem("most_in_total", what)
    if budget.most_in_total < budget.epsilon:
        raise section.problem("most_in_total", "must be at least epsilon, which is that of one period")
