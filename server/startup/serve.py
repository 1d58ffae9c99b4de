"""HTTP and the wire protocol on one event loop until a signal ends both; SIGHUP reloads the policy."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import structlog
import uvicorn

from server.errors import ServerError
from server.http.listener import HttpListener
from server.ledger.analyst import Act
from server.lru_cache import forget_unused
from server.pgwire.connection import CancelKeys, Limits, Listener, ListenerContext
from server.pgwire.gateway import Gateway
from server.pgwire.scram import Certificate, ledger_verifier, unknown_secret
from server.pgwire.shadow import CONNECTIONS, ShadowDatabase
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool
from server.startup.open_services import Services

GRACE_S = 30
"""How long running answers may still take after a request to stop, in seconds."""

MOST_CONNECTIONS = 1_000
"""The most connections of one port; fewer if the system allows fewer descriptors."""

_WAITING_FOR_CATALOG = 64

_SWITCH_S = 0.001
_GARBAGE = 20_000, 5, 2
"""New containers, and collections, before one. Python's 700 containers are less than one statement makes."""

_FILES, _OWN_FILES = 16_384, 1_024

_SECURE_S = 31_536_000  # a year, in which browsers ask this host by TLS only


def event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop: uvloop's if it is installed, which serves cached answers faster; else Python's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def allow_connections() -> int:
    """Raise this process's limit of open files and connections as far as the system allows.

    Returns: the most connections of each of the two ports, so that descriptors are left for the ledger, the databases
      and the workers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = _FILES if soft == resource.RLIM_INFINITY else soft
    return max(1, min(MOST_CONNECTIONS, (files - min(_OWN_FILES, files // 2)) // 2))


def http_server(
    services: Services, certificate: tuple[Path, Path] | None, connections: int = MOST_CONNECTIONS
) -> HttpListener:
    """The HTTP server; `certificate` has the PEM files of the certificate and its key, None: plain text."""
    files = {} if certificate is None else {"ssl_certfile": certificate[0], "ssl_keyfile": certificate[1]}
    secure = [] if certificate is None else [("Strict-Transport-Security", f"max-age={_SECURE_S}")]
    config = uvicorn.Config(
        services.app,
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # nothing here depends on who a request says it comes from
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        headers=secure,  # of every response, errors of the protocol included
        **files,  # type: ignore[arg-type]  # these two alone are paths
    )
    return HttpListener(config, connections)


def wire_listener(
    services: Services,
    shadow: ShadowDatabase | None,
    certificate: Certificate | None,
    *,
    plain_text: bool,
    connections: int = MOST_CONNECTIONS,
) -> Listener:
    """The wire protocol's listener, over the same pipeline and the same threads as HTTP.

    `plain_text`: may clients on other machines connect without TLS?
    """
    http = services.app.state.services
    catalogs = ThreadPool(running=CONNECTIONS, waiting=_WAITING_FOR_CATALOG)
    gateway = Gateway(
        services.pipeline, shadow, http.admission, http.reads, http.explanations, catalogs, http.outgoing
    )
    return Listener(
        ListenerContext(
            gateway,
            partial(ledger_verifier, services.ledger, http.reads),
            services.pipeline.current.policy.name,
            certificate,
            plain_text,
            CancelKeys(),
            unknown_secret(services.ledger.id),
            Limits(connections=connections),
        )
    )


@contextmanager
def short_pauses() -> Iterator[None]:
    """Keep Python's own pauses short, once all is imported and started.

    A collection of cyclic garbage walks over all 200,000 objects, which takes a tenth of a second and holds up every
    client. What exists now stays until the end, so it is not walked over again. A thread that plans a question yields
    to the event loop within a millisecond instead of five. A statement's trees are cyclic and die together, so a
    collection waits for some statements: planning takes a tenth less. Afterwards everything is collected as usual.
    Frozen objects would outlive the interpreter, and C++ modules print the objects that are left at its end
    (nanobind's, of DuckDB).
    """
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


async def serve_both(
    http: HttpListener, http_socket: socket.socket, wire: Listener | None, wire_socket: socket.socket | None
) -> None:
    """Serve until uvicorn is told to stop by a signal; then the wire protocol's sessions end, too.

    Both sockets are bound; without `wire` it is HTTP alone.
    """
    if wire is not None and wire_socket is not None:
        await wire.start(wire_socket)
    tidying = asyncio.create_task(give_memory_back())
    try:
        await http.serve(sockets=[http_socket])
    finally:
        tidying.cancel()
        if wire is not None:
            await wire.stop()


_TIDY_EVERY_S = 10.0
_TIDY_FROM_BYTES, _LITTLE_BYTES = 16 << 20, 1 << 20
_MOST_IN_VAIN = 2
"""Caches drop at the second time what was in use at the first one."""


async def give_memory_back() -> None:
    """Give memory back to the system after a storm, until it is cancelled.

    Trees of large statements are cyclic, and a full collection of garbage is rare. The C library keeps what is freed,
    and caches what nobody has asked for since. So where the process has grown, all is given back, until nothing more
    comes of it; a collection takes a tenth of a second.
    """
    usual, vain = _resident_bytes(), 0
    while True:
        await asyncio.sleep(_TIDY_EVERY_S)
        before = _resident_bytes()
        if before > usual + _TIDY_FROM_BYTES:
            await asyncio.to_thread(_tidy)
            vain = vain + 1 if _resident_bytes() > before - _LITTLE_BYTES else 0
        usual = _resident_bytes() if vain > _MOST_IN_VAIN else min(usual, _resident_bytes())


def _tidy() -> None:
    forget_unused()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)


def _resident_bytes() -> int:
    """The resident memory of this process; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


_log = structlog.get_logger("noisegate.policy")


def reload_policy(pipeline: ReloadablePipeline) -> None:
    """Reload the policy; a failure does not stop the proxy, which goes on under the old policy."""
    try:
        now = pipeline.reload(Act("signal", "SIGHUP"))
    except ServerError as error:
        _log.error("policy kept", why=type(error).__name__, message=error.message, hint=error.hint)
    else:
        _log.info("policy in force", policy_hash=now.hash, changed=now.changed, weaker=list(now.weaker))
