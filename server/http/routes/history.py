"""GET /v1/history: what the analyst has asked for and paid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from server.http.authentication import Analyst, services_of
from server.http.bodies.query_body import ParameterValue
from server.http.bodies.representations import JSON
from server.http.openapi import MAX_NUMBER, problems
from server.http.services import Custody
from server.ledger.charge import ChargeRecord, ChargeState
from server.ledger.question_texts import AskedText

router = APIRouter()

_PAGE_BYTES = 1 << 20
"""A page ends with the charge that reaches so many."""

_AT_ONCE = 50
"""Charges that are read of the ledger at a time, since with their words they may be large."""


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
    """Charges, the newest first. The ledger keeps the words of questions where the custodian has it do so.

    There are fewer of them than were asked for where their words are long: the next page, `before` the last number,
    goes on from there, and one without charges is the end.
    """

    charges: list[PastCharge]


@router.get("/v1/history", response_model=HistoryBody, responses=problems(401, 403, 422, 429, 500, 503))
async def history(
    request: Request,
    analyst: Analyst,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER, description="Only charges with lower numbers.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """What was charged to the analyst who asks. Asking such a question again is free."""
    services = services_of(request)
    newest = _newest(services.ledger, analyst, before, limit)
    page = await services.lookups.call_for(analyst, _page, newest, services.pipeline.current.words)
    return Response(page, media_type=JSON)


def _newest(ledger: Custody, analyst: str, before: int | None, limit: int) -> Iterator[ChargeRecord]:
    for left in range(limit, 0, -_AT_ONCE):
        most = min(left, _AT_ONCE)
        found = ledger.newest_charges(analyst, before=before, limit=most)
        yield from found
        if len(found) < most:
            return
        before = found[-1].number


def _page(newest: Iterator[ChargeRecord], words: Callable[[ChargeRecord], AskedText | None]) -> bytes:
    """The body of as many charges as a page has room for: what is not on it is not read."""
    charges: list[bytes] = []
    size = 0
    for record in newest:
        charges.append(PastCharge.of(record, words(record)).model_dump_json().encode())
        size += len(charges[-1])
        if size >= _PAGE_BYTES:
            break
    return b'{"charges":[' + b",".join(charges) + b"]}"
