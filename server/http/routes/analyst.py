"""GET /v1/me, /v1/schema, /v1/budget and /v1/history: the analyst, the catalog, the budget and past charges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from server.explain.catalog import Catalog
from server.http.authentication import ANALYST, Analyst, Held, authenticated
from server.http.budget_body import RemainingQuestionsBody
from server.http.openapi import MAX_NUMBER, problems
from server.http.query_body import ParameterValue
from server.http.representations import JSON
from server.ledger.analyst import Analyst as Holder
from server.ledger.analyst import Role
from server.ledger.charge import ChargeRecord, ChargeState
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText

router = APIRouter()

Practice = Annotated[bool, Query(description="Of the practice database's own ledger.")]


class MeBody(BaseModel):
    """The holder of the key, and the policy and data version of answers now."""

    name: str
    role: Role
    group: str | None
    dataset: str
    policy_hash: str = Field(description="Of the policy in force, as charges carry it.")
    data_version: int = Field(description="From 1. An answer in the same version is served again for free.")


@router.get("/v1/me", responses=problems(401, 403, 429, 500, 503))
async def me(services: Held, holder: Annotated[Holder, Depends(authenticated)]) -> MeBody:
    """Show the holder of a key of any role, and the policy and data version of answers now."""
    pipeline = services.pipeline.current
    dataset = (await services.lookups.call(pipeline.catalog)).dataset
    version = await services.reads.call(services.ledger.data_version)
    return MeBody(
        name=holder.name,
        role=holder.role,
        group=holder.group,
        dataset=dataset,
        policy_hash=pipeline.policy.hash,
        data_version=version,
    )


@router.get("/v1/schema", dependencies=[ANALYST], responses=problems(401, 403, 429, 500, 503))
async def schema(services: Held) -> Catalog:
    """Show tables, columns, ranges, group domains and join paths."""
    return await services.lookups.call(services.pipeline.current.catalog)


@router.get("/v1/budget", responses=problems(400, 401, 403, 422, 429, 500, 503))
async def budget(services: Held, analyst: Analyst, practice: Practice = False) -> RemainingQuestionsBody:
    """Show the analyst's budget, its guarantee, and the remaining questions."""
    services = await services.asked(analyst, practice=practice)
    return RemainingQuestionsBody.seen_by(analyst, await services.reads.remaining_questions(analyst))


_PAGE_BYTES = 1 << 20
"""A page ends with the charge that reaches this size."""

_AT_ONCE = 50
"""Charges are read in batches of this size, since their texts may be long."""


class PastCharge(BaseModel):
    """A question that was charged."""

    number: int
    at: datetime
    epsilon: float
    delta: float
    state: ChargeState
    mechanism: str
    request_id: str
    plan_hash: str = Field(description="The same for questions that differ only in literals.")
    sql: str | None = Field(None, description="The statement, if the ledger stores question texts.")
    parameters: list[ParameterValue] = Field([], description="The values of its placeholders.")

    @classmethod
    def of(cls, record: ChargeRecord, words: AskedText | None) -> PastCharge:
        """The body of a charge."""
        said = {} if words is None else {"sql": words.sql, "parameters": words.plain}
        at = datetime.fromtimestamp(record.reserved_at_ms / 1000, UTC)
        return cls.model_validate({**vars(record.charge), **vars(record), "at": at, **said})


class HistoryBody(BaseModel):
    """Charges, newest first, with question texts if the administrator has the ledger store them.

    A page may have fewer charges than requested if their texts are long. Continue with `before` the last number; an
    empty page is the end.
    """

    charges: list[PastCharge]


@router.get("/v1/history", response_model=HistoryBody, responses=problems(400, 401, 403, 422, 429, 500, 503))
async def history(
    services: Held,
    analyst: Analyst,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER, description="Only charges with lower numbers.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    practice: Practice = False,
) -> Response:
    """List the analyst's charges. Asking such a question again is free."""
    services = await services.asked(analyst, practice=practice)
    newest = _newest(services.ledger, analyst, before, limit)
    page = await services.lookups.call_for(analyst, _page, newest, services.pipeline.current.words)
    return Response(page, media_type=JSON)


def _newest(ledger: Ledger, analyst: str, before: int | None, limit: int) -> Iterator[ChargeRecord]:
    for left in range(limit, 0, -_AT_ONCE):
        most = min(left, _AT_ONCE)
        found = ledger.newest_charges(analyst, before=before, limit=most)
        yield from found
        if len(found) < most:
            return
        before = found[-1].number


def _page(newest: Iterator[ChargeRecord], words: Callable[[ChargeRecord], AskedText | None]) -> bytes:
    """The body with as many charges as a page has room for; no others are read."""
    charges: list[bytes] = []
    size = 0
    for record in newest:
        charges.append(PastCharge.of(record, words(record)).model_dump_json().encode())
        size += len(charges[-1])
        if size >= _PAGE_BYTES:
            break
    return b'{"charges":[' + b",".join(charges) + b"]}"
