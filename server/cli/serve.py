"""`noisegate serve`: start the proxy and stay until it is told to stop."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from server.cli.failure import CommandFailed
from server.cli.terminal import tell

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_BACKLOG = 128
_GRACE_S = 30  # how long answers under way may still take after a request to stop


def serve(
    policy: Annotated[Path, typer.Argument(help="The policy file.", exists=True, dir_okay=False, metavar="POLICY")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)] = 8432,
) -> None:
    """Start the proxy in front of the database that the policy names.

    It refuses to start when the policy is invalid, the database role may do more than SELECT, or the ledger that
    should be there is not. Stop it with Ctrl-C; answers under way are finished first. After SIGHUP it reads the
    policy anew; one that is invalid, or weaker and not confirmed, leaves the one before in force.

    Example:  noisegate serve policy.toml --port 8432

    Exit codes: 0 stopped on request, 2 could not start.
    """
    # Heavy imports (solvers, noise) wait until they are needed: `--help` and `query` stay quick.
    import uvicorn

    from server.cli.logs import log_to
    from server.services import open_services
    from server.sighup import reload_policy

    with closing(_listen(host, port)) as listener, open_services(policy, announce=tell) as services:
        log_to(sys.stderr)
        config = uvicorn.Config(
            services.app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
            server_header=False,
        )
        # A request to stop must come back here, so that the ledger and the workers are closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        signal.signal(signal.SIGHUP, lambda *_: Thread(target=reload_policy, args=(services.pipeline,)).start())
        _announce(listener, host)
        server = uvicorn.Server(config)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            tell("Stopped.")
        if not server.started:
            raise CommandFailed("the HTTP server did not start", hint="its own words are above")


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; taken before anything slow happens, so that a busy port is reported at once.

    The protocol is named, since asyncio turns off Nagle's delay (40 ms an answer) only where it sees TCP.
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
        raise CommandFailed(
            f"cannot listen on {host}:{port}: {reason}", hint="choose another --port or --host"
        ) from error
    return listener


def _announce(listener: socket.socket, host: str) -> None:
    """Say where the proxy listens, and that the way there is not encrypted when others can come."""
    port = listener.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    tell(f"Noisegate listens on http://{name}:{port} (API description at /openapi.json). Ctrl-C stops it.")
    if host not in _LOOPBACK:
        tell("warning: HTTP is not encrypted; put TLS in front before keys cross a network", style="yellow")
