"""The body of a budget: what is left, what it protects at per period and in total, how many questions that is."""

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
    from server.ledger.balance import Outlook


Total = float | Literal["unlimited"]
"""What all periods of an account may come to."""

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
    """What was granted and what is left."""

    epsilon: float
    delta: float
    epsilon_left: float
    delta_left: float


class Protection(BaseModel):
    """What an account protects at, and what basic composition would have left of it."""

    accounting: Accounting = Field(description="How charges add up.")
    epsilon_left_basic: float | None = Field(
        description="What basic composition would have left, beside zcdp and renyi; null for basic."
    )
    delta_left_basic: float | None
    renew: Renewal | None = Field(description="The period of the calendar, in UTC, or null.")
    renews_at_ms: int | None = Field(
        description="When the window or period ends, in milliseconds since 1970; null where nothing comes after it."
    )
    period: str | None = Field(description="The period that is being spent, such as 2026-12.")
    past_epsilon: float | None = Field(description="What the ended periods come to together.")
    total_epsilon: float | None = Field(description="What all periods come to at the end of this one, at most.")
    total_delta: float | None
    most_in_total: Total | None = Field(description="What all periods may come to: renewal stops there.")
    tuning_epsilon: float = Field(
        description="What was told to everybody beside the account's charges (`noisegate tune`)."
    )
    epsilon_total: float = Field(
        description="What has been told so far, by basic composition: this period's charges, those of the periods"
        " before, and tuning. Of an account with windows, of this window alone."
    )
    guarantee: str = Field(description="All of this as a sentence.")


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
    """What the analyst's group was granted and has left: it pays for every question beside the analyst."""

    name: str


class OutlookBody(BudgetBody, Protection):
    """An analyst's own budget, and how many more questions like the last ones all who pay can pay for."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    questions_left: int | None = Field(
        description="How many more questions like the last ten fit before anything renews; null before the first."
    )
    questions_like: int = Field(description="The mean of how many charges that is.")
    limited_by: str | None = Field(
        description="The account that is short first: yours, your group's or the dataset's."
    )

    group: GroupBudgetBody | None = Field(
        default=None, description="The group's account, which pays, too; null without one."
    )

    @classmethod
    def seen_by(cls, analyst: str, outlook: Outlook) -> OutlookBody:
        """The body of what an analyst has left."""
        own = next(one for one in outlook.accounts if one.name == analyst_account(analyst))
        shared = next((one for one in outlook.accounts if one.name.startswith(group_account(""))), None)
        group = None
        if shared is not None:
            group = {**protection(shared), "name": shared.name.removeprefix(group_account(""))}
        more = {"questions_left": outlook.questions_left, "questions_like": outlook.like}
        return cls.model_validate({**protection(own), **more, "limited_by": outlook.limited_by, "group": group})
