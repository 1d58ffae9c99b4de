"""/v1/admin/policy, /data, /charges, /entries and /ledger: the policy and load in force, what the ledger holds."""

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
    """Read the policy file anew."""

    confirm: Annotated[
        str | None,
        Field(pattern=r"^[0-9a-f]{64}$", description="The hash of a policy that protects less, if you mean it."),
    ] = None


class DatasetBody(BaseModel):
    """What every charge and every kept answer rests on."""

    policy_hash: str = Field(description="Of the policy that this proxy answers under.")
    accepted_policy_hash: str | None = Field(
        description="Of the one that was accepted last; where it is another, a reload takes it over."
    )
    data_version: int
    keeps_questions: bool = Field(description="Does the ledger keep the words of questions, sealed?")

    @classmethod
    async def of(cls, services: Services) -> DatasetBody:
        """As it is now."""
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
    """Which policy is in force, which was accepted last, and the version of the data."""
    return await DatasetBody.of(services)


@router.get("/policy/changes", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def policy_changes(services: Held) -> PolicyChanges:
    """What changed in the policy; empty where nothing did, or where the text before is not kept."""
    return await services.lookups.call(services.pipeline.changes)


@router.get("/schema", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def schema(services: Held) -> Catalog:
    """What the policy in force lets analysts ask: who is protected, what is public, what a question may spend."""
    return await services.lookups.call(services.pipeline.current.catalog)


@router.post("/policy/reload", responses=problems(400, 401, 403, 409, 413, 422, 429, 500, 503))
async def reload(services: Held, admin: Admin, body: ReloadBody) -> PolicyInForce:
    """Read the policy anew. One that is invalid, or weaker and not confirmed, leaves the one before in force."""
    return await services.audits.call(services.pipeline.reload, body.act(admin), body.confirm)


@router.post("/data/bump", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def bump(services: Held, admin: Admin, body: ActBody) -> DatasetBody:
    """Say that the data is a new load: every question is measured, and charged, anew. Resets no spending.

    Closed periods are compared by `noisegate data bump` alone, which has the custodian's key: none is kept by this.
    """
    await services.lookups.call(services.ledger.bump_data, body.act(admin))
    return await DatasetBody.of(services)


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
        shown = {"reserved_at_ms": record.shown_reserved_at_ms, "settled_at_ms": record.shown_settled_at_ms}
        return cls.model_validate({**vars(record.charge), **vars(record), **shown})


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


@router.get("/charges", dependencies=[READER], responses=problems(401, 403, 404, 422, 429, 500, 503))
async def charges(
    services: Held,
    analyst: Annotated[Name | None, Query()] = None,
    after: After = 0,
    limit: Limit = 100,
) -> list[ChargeRecordBody]:
    """Charges in order, of one analyst or of all."""
    found = await services.lookups.call(services.ledger.charges, analyst, after=after, limit=limit)
    return [ChargeRecordBody.of(record) for record in found]


@router.get("/entries", dependencies=[READER], responses=problems(401, 403, 422, 429, 500, 503))
async def entries(
    services: Held,
    after: After = 0,
    limit: Limit = 100,
    acts_only: Annotated[bool, Query(description="Leave the charges out: the audit log of custodians.")] = False,
) -> list[EntryBody]:
    """Entries of the ledger in the order of their numbers, from behind `after`."""
    found = await services.lookups.call(services.ledger.entries, after=after, limit=limit, acts_only=acts_only)
    return [EntryBody.of(entry) for entry in found]


@router.post("/ledger/verify", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def verify(services: Held) -> Verification:
    """Walk over the whole ledger: some ten seconds for a million entries; nobody waits for it."""
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
    """The charges as CSV, or every entry with its hash as one JSON object per line."""
    media_type = "text/csv" if form == "csv" else "application/jsonl"
    return StreamingResponse(EXPORTS[form](services.ledger), media_type=media_type)
