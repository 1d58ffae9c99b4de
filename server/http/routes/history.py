"""GET /v1/history: what the analyst has asked for and paid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from server.http.authentication import Analyst, services_of
from server.http.openapi import MAX_NUMBER, problems
from server.ledger.charge import ChargeRecord, ChargeState

router = APIRouter()


class PastCharge(BaseModel):
    """A question that was charged."""

    number: int
    at: datetime
    epsilon: float
    delta: float
    state: ChargeState
    mechanism: str
    request_id: str
    plan_hash: str = Field(description="The same for questions that differ in their literals only.")

    @classmethod
    def of(cls, record: ChargeRecord) -> PastCharge:
        """The body of a charge."""
        charge = record.charge
        return cls(
            number=record.number,
            at=datetime.fromtimestamp(record.reserved_at_ms / 1000, UTC),
            epsilon=charge.epsilon,
            delta=charge.delta,
            state=record.state,
            mechanism=charge.mechanism,
            request_id=charge.request_id,
            plan_hash=charge.plan_hash,
        )


class HistoryBody(BaseModel):
    """Charges, the newest first. The ledger does not keep the words of a question."""

    charges: list[PastCharge]


@router.get("/v1/history", responses=problems(401, 403, 422, 429, 500, 503))
async def history(
    request: Request,
    analyst: Analyst,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER, description="Only charges with lower numbers.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> HistoryBody:
    """What was charged to the analyst who asks. Asking such a question again is free."""
    services = services_of(request)
    found = await services.lookups.call(services.ledger.newest_charges, analyst, before=before, limit=limit)
    return HistoryBody(charges=[PastCharge.of(record) for record in found])
