"""The body of a budget: what is left, the guarantee per period and in total, and the remaining questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from server.ledger.account import (
    UNLIMITED,
    AccountBalance,
    Accounting,
    Renewal,
    analyst_account,
    group_account,
    guarantee,
)

if TYPE_CHECKING:
    from server.ledger.balance import RemainingQuestions


Total = float | Literal["unlimited"]
"""The total over all periods of an account."""

_EXAMPLE: JsonDict = {
    "epsilon": 10.0,
    "delta": 1e-6,
    "epsilon_left": 9.0,
    "delta_left": 1e-6,
    "accounting": "basic",
    "epsilon_left_basic": None,
    "delta_left_basic": None,
    "renew": "month",
    "renews_at_ms": 1798761600000,
    "period": "2026-12",
    "past_epsilon": 12.5,
    "total_epsilon": 22.5,
    "total_delta": 2e-6,
    "most_in_total": 50.0,
    "tuning_epsilon": 0.5,
    "epsilon_total": 14.0,
    "guarantee": "epsilon 10, delta 1e-06 per month; by the end of 2026-12 at most epsilon 22.5, delta 2e-06 over all"
    " periods; at most epsilon 50, delta 5e-06 in total, where renewal stops; and epsilon 0.5 of"
    " tuning, once, in addition",
    "questions_left": 18,
    "questions_like": 10,
    "limited_by": "analyst:ada",
    "group": {"name": "cardiology", "epsilon": 20.0, "delta": 1e-6, "epsilon_left": 17.5, "delta_left": 1e-6},
}


class BudgetBody(BaseModel):
    """The grant and what is left."""

    epsilon: float
    delta: float
    epsilon_left: float
    delta_left: float


class Protection(BaseModel):
    """The privacy guarantee of an account, and what basic composition would leave of it."""

    accounting: Accounting = Field(description="How charges compose.")
    epsilon_left_basic: float | None = Field(
        description="What basic composition would leave, for zcdp and renyi; null for basic."
    )
    delta_left_basic: float | None
    renew: Renewal | None = Field(description="The calendar period, in UTC, or null.")
    renews_at_ms: int | None = Field(
        description="When the window or period ends, in milliseconds since 1970; null if no other follows."
    )
    period: str | None = Field(description="The current period, such as 2026-12.")
    past_epsilon: float | None = Field(description="The sum over the ended periods.")
    total_epsilon: float | None = Field(description="The most that all periods have spent when this one ends.")
    total_delta: float | None
    most_in_total: Total | None = Field(description="The total over all periods, at which renewal stops.")
    tuning_epsilon: float = Field(description="The epsilon of `noisegate tune`, which adds to the account's charges.")
    epsilon_total: float = Field(
        description="What was released so far, by basic composition: the charges of this period and of those"
        " before, and tuning. For an account with windows, of this window alone."
    )
    guarantee: str = Field(description="The guarantee as a sentence.")


def protection(account: AccountBalance) -> dict[str, object]:
    """The fields of `Protection` and `BudgetBody`, among others."""
    basic, periods, most = account.basic, account.periods, account.grant.most_in_total
    return {
        **vars(account.grant),
        **vars(account),
        "epsilon_left_basic": None if basic is None else basic.epsilon_left,
        "delta_left_basic": None if basic is None else basic.delta_left,
        "period": getattr(periods, "name", None) or None,
        **{name: getattr(periods, name, None) for name in ("past_epsilon", "total_epsilon", "total_delta")},
        "most_in_total": "unlimited" if most == UNLIMITED else most,
        "epsilon_total": account.spent_epsilon + account.tuning_epsilon,
        "guarantee": guarantee(account),
    }


class GroupBudgetBody(BudgetBody):
    """The budget of the analyst's group, which pays for every question beside the analyst."""

    name: str


class RemainingQuestionsBody(BudgetBody, Protection):
    """An analyst's own budget, and the remaining questions that all paying accounts can pay for."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    questions_left: int | None = Field(
        description="The remaining questions at the price of the last ten, before anything renews; null before "
        "the first."
    )
    questions_like: int = Field(description="How many charges the price is the mean of.")
    limited_by: str | None = Field(
        description="The account that runs out first: yours, your group's or the dataset's."
    )

    group: GroupBudgetBody | None = Field(
        default=None, description="The group's account, which also pays; null without one."
    )

    @classmethod
    def seen_by(cls, analyst: str, remaining: RemainingQuestions) -> RemainingQuestionsBody:
        """The body for one analyst."""
        own = next(one for one in remaining.accounts if one.name == analyst_account(analyst))
        shared = next((one for one in remaining.accounts if one.name.startswith(group_account(""))), None)
        group = None
        if shared is not None:
            group = {**protection(shared), "name": shared.name.removeprefix(group_account(""))}
        more = {"questions_left": remaining.questions_left, "questions_like": remaining.like}
        return cls.model_validate({**protection(own), **more, "limited_by": remaining.limited_by, "group": group})
