"""GET /health: the process runs. GET /ready: it can answer. GET /metrics: counters for Prometheus."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from server.http.authentication import READER, Held
from server.http.metrics import MEDIA_TYPE, ledger_metrics
from server.http.openapi import problems
from server.http.services import Services
from server.ledger.account import analyst_account

router = APIRouter()


class HealthBody(BaseModel):
    """The state of the process."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok", "version": "0.2.0"}]})

    status: Literal["ok"]
    version: str


class ReadyBody(BaseModel):
    """The readiness of the proxy."""

    status: Literal["ready"]


@router.head("/ready", include_in_schema=False)
@router.get("/ready", responses=problems(500, 503))
async def ready(services: Held) -> ReadyBody:
    """Check that queries can be answered: the database and the ledger are available. Checked at most every few
    seconds.
    """
    await services.readiness_checks.call(services.readiness.raise_if_not)
    return ReadyBody(status="ready")


@router.get(
    "/metrics",
    response_class=Response,
    dependencies=[READER],
    responses={200: {"content": {"text/plain": {}}}, **problems(401, 403, 429, 500, 503)},
)
async def metrics(services: Held) -> Response:
    """Counters for Prometheus: requests, accounts and the ledger. Needs the role auditor or admin."""
    gauges = await services.lookups.call(_gauges, services)
    return Response(services.metrics.text() + gauges, media_type=MEDIA_TYPE)


def _gauges(services: Services) -> bytes:
    """The gauges, which are computed on demand."""
    ledger = services.ledger
    idle = {analyst_account(one.name) for one in ledger.analysts() if not one.enabled}  # nobody has to act
    accounts = [one for one in ledger.accounts() if one.name not in idle]
    return ledger_metrics(accounts, ledger.vitals(), services.pipeline.current.workers_alive())


@router.head("/health", include_in_schema=False)  # as load balancers and monitors ask
@router.get("/health")
async def health(request: Request) -> HealthBody:
    """Check that the process runs."""
    return HealthBody(status="ok", version=request.app.version)
