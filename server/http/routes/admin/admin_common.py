"""What every change carries, and where custodians' routes begin."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from server.ledger.account import UNLIMITED
from server.ledger.analyst import Act

ADMIN_PREFIX = "/v1/admin"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
"""Of an analyst or a group."""

AnalystName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
"""An analyst in a path."""

AccountName = Annotated[str, Path(pattern=r"^((analyst|group):)?[A-Za-z0-9_.@-]{1,64}$")]
"""An account in a path: `dataset`, `analyst:NAME`, `group:NAME`, or NAME where only one of both has it."""

Epsilon = Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
"""The ledger counts in units of 1e-9."""

Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]

Most = Epsilon | Literal["unlimited"]
"""An epsilon, or no bound."""


def most(said: Most | None) -> float | None:
    """What was said, as the ledger takes it."""
    return UNLIMITED if said == "unlimited" else said


class ActBody(BaseModel):
    """A change, and why it is made."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="Stands in the ledger for good.")]

    def act(self, by: str) -> Act:
        """The change as the ledger notes it."""
        return Act(by, self.reason)


def admin_router() -> APIRouter:
    """An empty router of custodians' routes."""
    return APIRouter(prefix=ADMIN_PREFIX, tags=["admin"])
