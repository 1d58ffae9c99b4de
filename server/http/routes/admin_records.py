"""/v1/admin/policy, /data, /charges, /entries and /ledger: the policy and data version, and the ledger's records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from server.explain.catalog import Catalog
from server.http.authentication import READER, ActBody, Admin, Held, Name, admin_router
from server.http.openapi import MAX_NUMBER, problems
from server.http.services import Services
from server.ledger.charge import ChargeRecord, ChargeState
from server.ledger.entry import Entry, EntryKind, Verification
from server.ledger.export import EXPORTS
from server.policy.accepted_policy import PolicyChanges
from server.reloadable_pipeline import PolicyInForce

router = admin_router()


class ReloadBody(ActBody):
    """A reload of the policy file."""

    confirm: Annotated[
        str | None,
        Field(pattern=r"^[0-9a-f]{64}$", description="The hash of a policy that protects less, to confirm it."),
    ] = None


class DatasetBody(BaseModel):
    """The policy and data version on which charges and cached answers depend."""

    policy_hash: str = Field(description="Of the policy in force.")
    accepted_policy_hash: str | None = Field(
        description="Of the last accepted policy. If it differs, a reload applies it."
    )
    data_version: int
    keeps_questions: bool = Field(description="Does the ledger store question texts, encrypted?")

    @classmethod
    async def of(cls, services: Services) -> DatasetBody:
        """The current state."""
        accepted = await services.lookups.call(services.ledger.accepted_policy)
        version = await services.lookups.call(services.ledger.data_version)
        pipeline = services.pipeline.current
        return cls(
            policy_hash=pipeline.policy.hash,
            accepted_policy_hash=accepted,
            data_version=version,
            keeps_questions=pipeline.question_keys is not None,
        )


@router.get("/dataset", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def dataset(services: Held) -> DatasetBody:
    """Show the policy in force, the last accepted one, and the data version."""
    return await DatasetBody.of(services)


@router.get("/policy/changes", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def policy_changes(services: Held) -> PolicyChanges:
    """Show the changes of the policy; empty if there are none, or the text before was not stored."""
    return await services.lookups.call(services.pipeline.changes)


@router.get("/schema", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def schema(services: Held) -> Catalog:
    """Show what the policy in force permits: privacy units, public tables, and budgets of questions."""
    return await services.lookups.call(services.pipeline.current.catalog)


@router.post("/policy/reload", responses=problems(400, 401, 403, 409, 413, 422, 429, 500, 503))
async def reload(services: Held, admin: Admin, body: ReloadBody) -> PolicyInForce:
    """Read the policy again. If it is invalid, or weaker and not confirmed, the old one stays in force."""
    return await services.audits.call(services.pipeline.reload, body.act(admin), body.confirm)


@router.post("/data/bump", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def bump(services: Held, admin: Admin, body: ActBody) -> DatasetBody:
    """Record a new data version: every question is measured and charged again. Spending stays.

    Only `noisegate data bump` compares closed periods, as it has the administrator's key; this one caches none.
    """
    await services.lookups.call(services.ledger.bump_data, body.act(admin))
    return await DatasetBody.of(services)


_PAGE = 1000
After = Annotated[int, Query(ge=0, le=MAX_NUMBER, description="The last number of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=_PAGE)]


class ChargeRecordBody(BaseModel):
    """A charge of the ledger and its state."""

    number: int
    analyst: str
    epsilon: float
    delta: float
    state: ChargeState
    accounts: list[str] = Field(description="Who paid.")
    repeats: int | None = Field(description="The charge whose cached answer was sold again.")
    mechanism: str
    request_id: str
    policy_hash: str
    plan_hash: str
    reserved_at_ms: int = Field(
        description="Rounded to the hour, since the duration of a question depends on the data."
    )
    settled_at_ms: int | None = Field(description="Rounded to the hour.")

    @classmethod
    def of(cls, record: ChargeRecord) -> ChargeRecordBody:
        """The body of a charge."""
        shown = {"reserved_at_ms": record.shown_reserved_at_ms, "settled_at_ms": record.shown_settled_at_ms}
        return cls.model_validate({**vars(record.charge), **vars(record), **shown})


class EntryBody(BaseModel):
    """An entry of the ledger."""

    number: int
    at_ms: int = Field(description="Rounded to the hour for questions, exact for administrators' acts.")
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


@router.get("/charges", dependencies=[READER], responses=problems(401, 403, 404, 422, 429, 500, 503))
async def charges(
    services: Held,
    analyst: Annotated[Name | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> list[ChargeRecordBody]:
    """List charges in order, of one analyst or of all."""
    found = await services.lookups.call(services.ledger.charges, analyst, after=after, limit=limit)
    return [ChargeRecordBody.of(record) for record in found]


@router.get("/entries", dependencies=[READER], responses=problems(401, 403, 422, 429, 500, 503))
async def entries(
    services: Held,
    after: After = 0,
    limit: Limit = 100,
    acts_only: Annotated[bool, Query(description="Leave the charges out: the audit log of administrators.")] = False,
) -> list[EntryBody]:
    """List entries in order, after the number `after`."""
    found = await services.lookups.call(services.ledger.entries, after=after, limit=limit, acts_only=acts_only)
    return [EntryBody.of(entry) for entry in found]


@router.post("/ledger/verify", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def verify(services: Held) -> Verification:
    """Verify the whole ledger: about ten seconds for a million entries; nobody waits for it."""
    return await services.audits.call(services.ledger.verify)


@router.get(
    "/ledger/export",
    response_class=StreamingResponse,
    dependencies=[READER],
    responses={200: {"content": {"text/csv": {}, "application/jsonl": {}}}, **problems(401, 403, 422, 429, 500, 503)},
)
async def export(
    services: Held, form: Annotated[Literal["csv", "json"], Query(alias="format")] = "json"
) -> StreamingResponse:
    """Export the charges as CSV, or every entry with its hash as one JSON object per line."""
    media_type = "text/csv" if form == "csv" else "application/jsonl"
    return StreamingResponse(EXPORTS[form](services.ledger), media_type=media_type)
