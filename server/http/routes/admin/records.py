"""/v1/admin/charges, /entries, /ledger: what the ledger holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from server.http.authentication import Reader, services_of
from server.http.openapi import MAX_NUMBER, problems
from server.http.routes.admin.admin_common import Name, admin_router
from server.ledger.charge import ChargeRecord, ChargeState
from server.ledger.entry import Entry
from server.ledger.entry_contents import EntryKind
from server.ledger.export import EXPORTS

router = admin_router()

_PAGE = 1000
After = Annotated[int, Query(ge=0, le=MAX_NUMBER, description="The last number of the page before.")]
Limit = Annotated[int, Query(ge=1, le=_PAGE)]


class ChargeRecordBody(BaseModel):
    """A charge of the ledger: what was reserved, and what became of it."""

    number: int
    analyst: str
    epsilon: float
    delta: float
    state: ChargeState
    accounts: list[str] = Field(description="Who paid.")
    repeats: int | None = Field(description="The charge whose kept answer was sold again.")
    mechanism: str
    request_id: str
    policy_hash: str
    plan_hash: str
    reserved_at_ms: int = Field(description="To the hour: how long a question takes depends on the data.")
    settled_at_ms: int | None = Field(description="To the hour.")

    @classmethod
    def of(cls, record: ChargeRecord) -> ChargeRecordBody:
        """The body of a charge."""
        charge = record.charge
        return cls(
            number=record.number,
            analyst=charge.analyst,
            epsilon=charge.epsilon,
            delta=charge.delta,
            state=record.state,
            accounts=list(record.accounts),
            repeats=charge.repeats,
            mechanism=charge.mechanism,
            request_id=charge.request_id,
            policy_hash=charge.policy_hash,
            plan_hash=charge.plan_hash,
            reserved_at_ms=record.shown_reserved_at_ms,
            settled_at_ms=record.shown_settled_at_ms,
        )


class EntryBody(BaseModel):
    """An entry of the ledger."""

    number: int
    at_ms: int = Field(description="To the hour for questions, exactly for what custodians did.")
    kind: EntryKind
    content: Mapping[str, object]
    hash: str = Field(description="SHA-256 over this entry and the hash before it, in hex.")

    @classmethod
    def of(cls, entry: Entry) -> EntryBody:
        """The body of an entry."""
        return cls(
            number=entry.number,
            at_ms=entry.shown_at_ms,
            kind=entry.kind,
            content=entry.content,
            hash=entry.hash.hex(),
        )


class VerificationBody(BaseModel):
    """What a walk over the whole ledger found."""

    entries: int = Field(description="How many hold.")
    head: str = Field(description="The hash of the last one: noted elsewhere, it proves everything before it.")
    fault: str | None = Field(description="What does not hold.")


@router.get("/charges", responses=problems(401, 403, 404, 422, 429, 500, 503))
async def charges(
    request: Request,
    reader: Reader,
    analyst: Annotated[Name | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> list[ChargeRecordBody]:
    """Charges in order, of one analyst or of all."""
    del reader
    services = services_of(request)
    found = await services.lookups.call(services.ledger.charges, analyst, after=after, limit=limit)
    return [ChargeRecordBody.of(record) for record in found]


@router.get("/entries", responses=problems(401, 403, 422, 429, 500, 503))
async def entries(
    request: Request,
    reader: Reader,
    after: After = 0,
    limit: Limit = 100,
    acts_only: Annotated[bool, Query(description="Leave the charges out: the audit log of custodians.")] = False,
) -> list[EntryBody]:
    """Entries of the ledger in the order of their numbers, from behind `after`."""
    del reader
    services = services_of(request)
    found = await services.lookups.call(services.ledger.entries, after=after, limit=limit, acts_only=acts_only)
    return [EntryBody.of(entry) for entry in found]


@router.post("/ledger/verify", responses=problems(401, 403, 429, 500, 503))
async def verify(request: Request, reader: Reader) -> VerificationBody:
    """Walk over the whole ledger: some ten seconds for a million entries; nobody waits for it."""
    del reader
    services = services_of(request)
    found = await services.audits.call(services.ledger.verify)
    return VerificationBody(entries=found.entries, head=found.head, fault=found.fault)


@router.get(
    "/ledger/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {}, "application/jsonl": {}}}, **problems(401, 403, 422, 429, 500, 503)},
)
async def export(
    request: Request, reader: Reader, form: Annotated[Literal["csv", "json"], Query(alias="format")] = "json"
) -> StreamingResponse:
    """The charges as CSV, or every entry with its hash as one JSON object per line."""
    del reader
    media_type = "text/csv" if form == "csv" else "application/jsonl"
    return StreamingResponse(EXPORTS[form](services_of(request).ledger), media_type=media_type)
