"""GET /v1/history: what the analyst has asked for and paid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from server.http.authentication import Analyst, services_of
from server.http.bodies.query_body import ParameterValue
from server.http.openapi import MAX_NUMBER, problems
from server.ledger.charge import ChargeRecord, ChargeState
from server.ledger.question_texts import AskedText

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
    sql: str | None = Field(None, description="What was asked, where the ledger keeps the words of questions.")
    parameters: list[ParameterValue] = Field([], description="The values of its placeholders.")

    @classmethod
    def of(cls, record: ChargeRecord, words: AskedText | None) -> PastCharge:
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
            sql=None if words is None else words.sql,
            parameters=[] if words is None else words.plain,
        )


class HistoryBody(BaseModel):
    """Charges, the newest first. The ledger keeps the words of questions where the custodian has it do so."""

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
    words = services.pipeline.current.words
    return HistoryBody(charges=[PastCharge.of(record, words(record)) for record in found])
