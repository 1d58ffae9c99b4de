"""Sockets that listen, and the words that say where."""

from __future__ import annotations

import socket

from server.cli.failure import CommandFailed

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_EVERYWHERE = ("0.0.0.0", "::")
_BACKLOG = 128


def listen(host: str, port: int, option: str) -> socket.socket:
    """A listening socket; taken before anything slow happens, so that a busy port is reported at once.

    The protocol is named, since asyncio turns off Nagle's delay (40 ms an answer) only where it sees TCP.

    Args:
      option: which option chooses another port.
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
    """The name under which others reach what listens on a host: this machine's where it listens everywhere."""
    return socket.gethostname() if host in _EVERYWHERE else host


def address(listener: socket.socket, host: str) -> str:
    """HOST:PORT as a URL has it."""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{listener.getsockname()[1]}"
