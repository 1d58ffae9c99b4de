"""`noisegate serve`: start the proxy and stay until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from server.cli.commands.listening import LOOPBACK, address, listen, reachable
from server.cli.failure import CommandFailed
from server.cli.output.terminal import tell


def serve(
    policy: Annotated[Path, typer.Argument(help="The policy file.", exists=True, dir_okay=False, metavar="POLICY")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port for HTTP; 0 takes a free one.", min=0, max=65535)] = 8432,
    wire_port: Annotated[
        int, typer.Option(help="The port for psql and drivers; 0 takes a free one.", min=0, max=65535)
    ] = 6432,
    wire: Annotated[bool, typer.Option(help="Serve psql and drivers.")] = True,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="A PEM certificate: both ports then speak TLS.", exists=True, dir_okay=False)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="The certificate's private key, in PEM.", exists=True, dir_okay=False)
    ] = None,
    plain_text: Annotated[
        bool, typer.Option("--plain-text", help="Let psql and drivers of other machines come without TLS.")
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

    It refuses to start when the policy is invalid, the database role may do more than SELECT, or the ledger that
    should be there is not. Stop it with Ctrl-C; answers under way are finished first. After SIGHUP it reads the
    policy anew; one that is invalid, or weaker and not confirmed, leaves the one before in force.

    Example:  noisegate serve policy.toml --port 8432

    Exit codes: 0 stopped on request, 2 could not start.
    """
    # Heavy imports (solvers, noise) wait until they are needed: `--help` and `query` stay quick.
    from server.cli.logs import keep_standard_streams, log_to
    from server.libpq import forget_environment
    from server.pgwire.auth.certificate import read_certificate
    from server.pgwire.shadow.open_shadow import open_shadow, renew_shadow
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

    if (tls_certificate is None) != (tls_key is None):
        raise CommandFailed("TLS needs both --tls-certificate and --tls-key")
    files = None if tls_certificate is None or tls_key is None else (tls_certificate, tls_key)
    certificate = None if files is None else read_certificate(*files)
    keep_standard_streams()
    connections = allow_connections()
    if ignored := forget_environment():
        names = ", ".join(ignored)
        tell(f"warning: {names} in the environment do not count; say it in the database's URL", style="yellow")
    # A request to stop must come back here from the first moment, so that the ledger, the workers and the servers
    # that were started for it are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
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
            raise CommandFailed("the HTTP server did not start", hint="its own words are above")
