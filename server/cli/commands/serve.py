"""`noisegate serve`: open the sockets, set up the log, start the proxy, and run until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread
from typing import Annotated, TextIO, cast

import typer

from server.cli.commands.open_ledger import PolicyArgument, Port, Wire, WirePort
from server.cli.failure import CommandFailed
from server.cli.terminal import SpareStream, tell


def log_to(stream: TextIO | None) -> None:
    """Send the log to a stream, from level info on; lines that cannot be written are lost.

    Times are whole seconds, since finer times would show how long an answer took.
    """
    import structlog  # here, so that the template starts before

    spare = SpareStream(stream)
    renderer: structlog.typing.Processor
    renderer = structlog.dev.ConsoleRenderer() if spare.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%dT%H:%M:%SZ", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, spare)),  # it writes and flushes, no more
    )


def keep_standard_streams() -> None:
    """Open closed descriptors 0 to 2, so that no socket or file gets one of them."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    os.close(descriptor)


LOOPBACK = ("127.0.0.1", "::1", "localhost")

_EVERYWHERE = ("0.0.0.0", "::")
_BACKLOG = 128


def listen(host: str, port: int, option: str) -> socket.socket:
    """A listening socket, opened first so that a busy port is reported at once.

    The protocol is named, since asyncio disables Nagle's delay (40 ms per answer) only for TCP.

    Args:
      option: the option that chooses another port.
    Raises: CommandFailed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or "the address is not usable"
        hint = f"choose another {option} or --host"
        raise CommandFailed(f"cannot listen on {host}:{port}: {reason}", hint=hint) from error
    return listener


def reachable(host: str) -> str:
    """The name by which others reach a listening host: this machine's name if it listens on all addresses."""
    return socket.gethostname() if host in _EVERYWHERE else host


def address(listener: socket.socket, host: str) -> str:
    """HOST:PORT as in a URL."""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{listener.getsockname()[1]}"


def serve(
    policy: PolicyArgument,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Port = 8432,
    wire_port: WirePort = 6432,
    wire: Wire = True,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="A PEM certificate: both ports then speak TLS.", exists=True, dir_okay=False)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="The certificate's private key, in PEM.", exists=True, dir_okay=False)
    ] = None,
    plain_text: Annotated[
        bool, typer.Option("--plain-text", help="Accept psql and drivers of other machines without TLS.")
    ] = False,
    catalog: Annotated[
        str | None,
        typer.Option(
            help="env:NAME or file:PATH of the URL of an empty PostgreSQL, as a superuser, that shows clients the "
            "tables, alone on its server; an embedded one is started without it.",
            metavar="SECRET",
        ),
    ] = None,
) -> None:
    """Start the proxy in front of the database that the policy names.

    It does not start if the policy is invalid, the database role may do more than SELECT, or the ledger is missing.
    Ctrl-C stops it after running answers are finished. SIGHUP reloads the policy; if the new one is invalid, or
    weaker and not confirmed, the old one stays in force.

    Example:  noisegate serve policy.toml --port 8432

    Exit codes: 0 stopped on request, 2 could not start.
    """
    # Heavy imports (solvers, noise) wait until they are needed: `--help` and `query` stay quick.
    gc.disable()  # collections walk over all imported objects again and again: a fifth of the time
    from server.libpq import forget_environment
    from server.workers.worker import start_template

    keep_standard_streams()
    ignored = forget_environment()
    start_template()  # it imports while this process does, on another processor
    from server.pgwire.scram import read_certificate
    from server.pgwire.shadow_setup import open_shadow, renew_shadow
    from server.policy.secrets import resolve
    from server.startup.open_services import open_services
    from server.startup.serve import (
        allow_connections,
        event_loop,
        http_server,
        reload_policy,
        serve_both,
        short_pauses,
        wire_listener,
    )

    gc.enable()
    if (tls_certificate is None) != (tls_key is None):
        raise CommandFailed("TLS needs both --tls-certificate and --tls-key")
    files = None if tls_certificate is None or tls_key is None else (tls_certificate, tls_key)
    certificate = None if files is None else read_certificate(*files)
    connections = allow_connections()
    if ignored:
        names = ", ".join(ignored)
        tell(f"warning: {names} in the environment are ignored; set them in the database's URL", style="yellow")
    # A request to stop must come back here from the first moment, so that the ledger, the workers and the servers
    # that were started for it are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
        gc.freeze()  # what was imported stays until the end
        stack.callback(gc.unfreeze)
        http_socket = stack.enter_context(closing(listen(host, port, "--port")))
        wire_socket = stack.enter_context(closing(listen(host, wire_port, "--wire-port"))) if wire else None
        services = stack.enter_context(open_services(policy, announce=tell))
        listener = None
        if wire_socket is not None:
            url = None if catalog is None else resolve(catalog, policy.parent)
            now = services.pipeline.current
            folder = policy.with_suffix(".catalog")
            shadow = stack.enter_context(open_shadow(folder, now.schema, now.policy, url, tell))
            if shadow is not None:
                services.pipeline.watch(lambda now: renew_shadow(shadow, now.schema, now.policy))
            listener = wire_listener(services, shadow, certificate, plain_text=plain_text, connections=connections)
        services.warm()  # their imports have run beside all of this
        log_to(sys.stderr)
        signal.signal(signal.SIGHUP, lambda *_: Thread(target=reload_policy, args=(services.pipeline,)).start())
        scheme = "http" if files is None else "https"
        listening = address(http_socket, reachable(host))
        tell(f"Noisegate listens on {scheme}://{listening}: a console, and an API for programs.")
        if wire_socket is not None:
            name = services.pipeline.current.policy.name
            tls = "" if files is None else " sslmode=verify-full"
            where = f"host={reachable(host)} port={wire_socket.getsockname()[1]} dbname={name} user=ANALYST{tls}"
            tell(f'psql and drivers: psql "{where}", with the key as password. Ctrl-C stops both.')
        if host not in LOOPBACK and files is None:
            hint = "give --tls-certificate and --tls-key, or put TLS in front"
            tell(f"warning: HTTP is not encrypted; {hint}", style="yellow")
        server = http_server(services, files, connections)
        try:
            with short_pauses(), asyncio.Runner(loop_factory=event_loop) as runner:
                runner.run(serve_both(server, http_socket, listener, wire_socket))
        except KeyboardInterrupt:
            tell("Stopped.")
        if not server.started:
            raise CommandFailed("the HTTP server did not start", hint="its messages are above")
