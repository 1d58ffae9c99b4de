"""The HTTP application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from server.admission import Admission, LedgerReads
from server.connections import Outgoing
from server.console import pages
from server.http.exchange import ExchangeMiddleware, add_problem_handlers
from server.http.metrics import Metrics
from server.http.openapi import describe
from server.http.repeated import RepeatedAnswers
from server.http.routes import admin_accounts, admin_records, analyst, health, query
from server.http.services import KeyLimits, Rate, Readiness, Services
from server.ledger.ledger import Ledger
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.jobs import Jobs
from server.scheduling.thread_pool import ThreadPool

_DESCRIPTION = """Differentially private answers to SQL. Send one SELECT and a key; get noisy numbers that protect
people, not rows, with an interval, and a charge to your budget. Every error is a JSON object (a
"problem") that contains an SQLSTATE."""


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """All routes. They are independent of the application, so all applications share their compiled validators."""
    together = APIRouter()
    for route in (query, analyst, health, admin_accounts, admin_records, pages):
        together.include_router(route.router)
    return tuple(together.routes)


def create_app(
    pipeline: ReloadablePipeline,
    ledger: Ledger,
    *,
    running_queries: int = 16,
    waiting_queries: int = 64,
    rate: Rate = Rate(),
) -> FastAPI:
    """Create the application over a pipeline.

    Args:
      running_queries: the most concurrent queries; most of them wait for a worker process.
      waiting_queries: how many more may wait; the next one is refused with 53300.
    Returns: an ASGI application. Every response, including errors, is JSON with a request id.
    """
    jobs_kept = Jobs()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await jobs_kept.close()

    app = FastAPI(
        lifespan=lifespan,
        title="Noisegate",
        summary="Noisy answers to SQL that protect people, not rows.",
        description=_DESCRIPTION,
        version=version("noisegate"),
        docs_url=None,  # the interactive pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a redirect would not be a problem body, and clients drop the key on the way
        # FastAPI would export exceptions with their texts, and exact durations, wherever OpenTelemetry is set up.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    metrics, key_limits = Metrics(), KeyLimits(rate)
    lookups = ThreadPool(running=4, waiting=256)
    reads = LedgerReads(ledger, ledger.local, lookups)
    app.state.services = Services(
        pipeline,
        ledger,
        admission=Admission(
            lambda: pipeline.current,
            reads,
            ThreadPool(running=4, waiting=256),
            ThreadPool(running_queries, waiting_queries),
        ),
        reads=reads,
        lookups=lookups,
        explanations=ThreadPool(running=4, waiting=256),
        audits=ThreadPool(running=1, waiting=16),
        readiness_checks=ThreadPool(running=1, waiting=32),
        outgoing=Outgoing(),
        jobs=jobs_kept,
        metrics=metrics,
        readiness=Readiness(lambda: pipeline.current.check_ready()),
        key_limits=key_limits,
    )
    app.router.routes.extend(_routes())
    add_problem_handlers(app)
    app.openapi = describe(app)  # type: ignore[method-assign]  # how FastAPI documents to do it
    repeated = RepeatedAnswers(lambda: pipeline.current, ledger, key_limits)
    app.add_middleware(ExchangeMiddleware, metrics=metrics, repeated=repeated.find)
    return app
