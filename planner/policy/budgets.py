"""What the policy grants by default: to the dataset when its ledger is made, to an analyst who is added."""

from __future__ import annotations

from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

ACCOUNTINGS = ("basic", "zcdp", "renyi")


@dataclass(frozen=True)
class BudgetPolicy:
    """One default. A later change of it changes no account that there is: that is an act with a reason.

    Attributes:
      epsilon, delta: of the whole budget.
      accounting: how its charges add up, one of ACCOUNTINGS; an analyst's by basic composition.
      window_days: after so many days it starts again from nothing, or None: never. With windows nothing bounds what
        is learned over all time.
      per_query_epsilon: the most that one query may take from it, or None.
    """

    epsilon: float
    delta: float = 0.0
    accounting: str = "basic"
    window_days: float | None = None
    per_query_epsilon: float | None = None


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
    analyst = _budget(section.section("analyst"), ("basic",)) if "analyst" in names else None
    dataset = _budget(section.section("dataset"), ACCOUNTINGS) if "dataset" in names else None
    section.finish()
    return Budgets(analyst, dataset)


def _budget(section: TomlSection, accountings: tuple[str, ...]) -> BudgetPolicy:
    budget = BudgetPolicy(
        epsilon=section.number("epsilon"),
        delta=section.number("delta", 0.0),
        accounting=section.choice("accounting", accountings, "basic"),
        window_days=section.number_or_none("window_days"),
        per_query_epsilon=section.number_or_none("per_query_epsilon"),
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
    return budget
