"""HTTP and the wire protocol on one event loop, until a signal ends both."""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
import sys
from pathlib import Path

import uvicorn

from server.http.connection_limits import BoundedProtocol
from server.pgwire.cancel_keys import CancelKeys
from server.pgwire.certificate import Certificate
from server.pgwire.connection import Limits, Reception
from server.pgwire.ledger_verifiers import LedgerVerifiers
from server.pgwire.listener import Listener
from server.pgwire.pipeline_desk import PipelineDesk
from server.pgwire.scram import unknown_secret
from server.pgwire.shadow.shadow import CONNECTIONS, ShadowDatabase
from server.services import Services
from server.threads import Threads

GRACE_S = 30
"""How long answers under way may still take after a request to stop."""

_WAITING_FOR_CATALOG = 64
_SWITCH_S = 0.001
_FILES = 16_384


def event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop: uvloop's where it is installed, which serves kept answers faster; else Python's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def allow_connections() -> None:
    """Let this process have as many files and connections open as the system lets it have; often a soft limit is low.

    At the limit nothing could be accepted any more, nor the ledger opened.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def http_server(services: Services, certificate: tuple[Path, Path] | None) -> uvicorn.Server:
    """The HTTP server.

    Args:
      certificate: PEM files of the certificate and of its key; None: plain text.
    """
    files = {} if certificate is None else {"ssl_certfile": certificate[0], "ssl_keyfile": certificate[1]}
    config = uvicorn.Config(
        services.app,
        http=BoundedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # nothing here depends on who a request says it comes from
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        **files,  # type: ignore[arg-type]  # these two alone are paths
    )
    return uvicorn.Server(config)


def wire_listener(
    services: Services, shadow: ShadowDatabase | None, certificate: Certificate | None, *, plain_text: bool
) -> Listener:
    """The wire protocol's listener, over the same pipeline and the same threads as HTTP.

    Args:
      plain_text: may other machines' clients come without TLS?
    """
    http = services.app.state.services
    catalogs = Threads(running=CONNECTIONS, waiting=_WAITING_FOR_CATALOG)
    desk = PipelineDesk(services.pipeline, shadow, http.asking, http.reads, http.explanations, catalogs)
    return Listener(
        Reception(
            desk,
            LedgerVerifiers(services.ledger, http.reads),
            services.pipeline.current.policy.name,
            certificate,
            plain_text,
            CancelKeys(),
            unknown_secret(services.ledger.id),
            Limits(),
        )
    )


def keep_pauses_short() -> None:
    """Let no pause of Python's own hold up every client at once. To be called when all is imported and started.

    A collection of cyclic garbage walks over all that is there: 200,000 objects, a tenth of a second. What is there
    now stays until the end, so it is walked over no more. And a thread that plans a question gives way to the event
    loop within a millisecond, not five.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_S)


async def serve_both(
    http: uvicorn.Server, http_socket: socket.socket, wire: Listener | None, wire_socket: socket.socket | None
) -> None:
    """Serve until uvicorn is told to stop by a signal; then the wire protocol's sessions end, too."""
    if wire is not None and wire_socket is not None:
        await wire.start(wire_socket)
    try:
        await http.serve(sockets=[http_socket])
    finally:
        if wire is not None:
            await wire.stop()
