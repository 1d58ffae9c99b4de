"""The PostgreSQL port and its connections: TLS, authentication, cancellation, sessions.

Each session has a number and a secret, which its client needs to cancel. The number of an analyst's sessions is
limited.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog

from planner.errors import PlannerError
from server.admission import on_practice
from server.connections import Entrance, Place, Standing
from server.errors import ServerError, WireError
from server.pgwire import client_messages as m
from server.pgwire import scram, server_messages
from server.pgwire.channel import Channel
from server.pgwire.client_messages import Decoder
from server.pgwire.errors import ProtocolViolation, client_problem
from server.pgwire.gateway import Gateway
from server.pgwire.portals import MOST_OF_ONE
from server.pgwire.scram import Certificate, Verifier
from server.pgwire.session import Session
from server.pgwire.settings import Settings
from server.scheduling.fair_shares import FairShares


@dataclass(frozen=True)
class _Known:
    """A session: its analyst, its secret, and callbacks that end its statement or the whole session."""

    analyst: str
    secret: bytes = field(repr=False)
    cancel: Callable[[], None]
    end: Callable[[], None]


class CancelKeys:
    """The sessions that a client with the secret, or another session of the same analyst, can cancel."""

    def __init__(self) -> None:
        self._sessions: dict[int, _Known] = {}

    def add(self, analyst: str, cancel: Callable[[], None], end: Callable[[], None]) -> tuple[int, bytes]:
        """Register a session, and return its number (no process id) and its secret of 4 bytes, as in protocol 3.0.

        Args:
          cancel: ends the session's statement.
          end: ends the session after its statement.
        """
        while (process := secrets.randbelow((1 << 31) - 1) + 1) in self._sessions:
            pass
        secret = secrets.token_bytes(4)
        self._sessions[process] = _Known(analyst, secret, cancel, end)
        return process, secret

    def remove(self, process: int) -> None:
        """Unregister a session."""
        self._sessions.pop(process, None)

    def cancel(self, process: int, secret: bytes) -> None:
        """Cancel if the secret is right; the caller does not learn whether it was."""
        known = self._sessions.get(process)
        if known is not None and hmac.compare_digest(known.secret, secret):
            known.cancel()

    def stop_own(self, analyst: str, process: int, *, session: bool) -> bool:
        """Cancel the statement of another session of the analyst, or end the session; False if the analyst has no
        such session.

        Sessions of others look like missing ones.

        Args:
          session: end the session, too.
        """
        known = self._sessions.get(process)
        if known is None or known.analyst != analyst:
            return False
        known.cancel()
        if session:
            known.end()
        return True


@contextmanager
def counted_session(sessions: FairShares, analyst: str) -> Iterator[None]:
    """Count one of an analyst's sessions. Raises: WireError beyond the limit."""
    if sessions.refusal(analyst) is not None:
        raise WireError("you have too many sessions", "53300", hint="close some")
    sessions.take(analyst)
    try:
        yield
    finally:
        sessions.give_back(analyst)


_PRACTICE = "_practice"
"""What the data set's name ends with in that of its practice database."""

_SESSIONS = 100
"""The most sessions of one analyst."""

_ENCRYPTIONS = 2
"""The most encryption requests: one for GSS and one for TLS."""

_FAREWELL_S = 0.05

_log = structlog.get_logger("noisegate.pgwire")


@dataclass(frozen=True)
class Limits:
    """Public bounds of a connection.

    Attributes:
      authentication_s: the time limit from the first byte to authentication.
      idle_s: the time limit between two messages of a session.
      trusted_s: how long a session relies on its last look at the analyst's key in the ledger.
    """

    authentication_s: float = 30.0
    idle_s: float = 3_600.0
    trusted_s: float = 5.0
    message_bytes: int = 1 << 20
    connections: int = 1_000


@dataclass(frozen=True)
class ListenerContext:
    """What all connections share.

    Attributes:
      verifier: looks up the verifier of an analyst's key (`scram.ledger_verifier`).
      database: the name of the data set; the practice database has another ending.
      certificate: for TLS; None: plain text only.
      plain_text: allow clients of other machines without TLS; local ones always may.
      sessions, kept: the number of sessions and their bytes per analyst; used on the event loop.
      secret: derives verifiers of unknown names (`scram.unknown_secret`).
    """

    gateway: Gateway
    verifier: Callable[[str], Awaitable[Verifier | None]]
    database: str
    certificate: Certificate | None
    plain_text: bool
    cancel_keys: CancelKeys
    secret: bytes
    limits: Limits
    sessions: FairShares = field(default_factory=lambda: FairShares(_SESSIONS))
    kept: FairShares = field(default_factory=lambda: FairShares(MOST_OF_ONE))


class Connection:
    """Serves one client, which has a place among the port's connections."""

    def __init__(self, channel: Channel, reception: ListenerContext, place: Place) -> None:
        self._channel = channel
        self._place = place
        self._reception = reception
        self._decoder = Decoder(reception.limits.message_bytes)
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._stopping = False
        self._ending = WireError("the proxy is stopping", "57P01", hint="connect again later")
        self._verifier: Verifier | None = None
        self._trusted_until = 0.0
        place.end = self._make_room

    async def serve(self) -> None:
        """Serve until either side ends. Never raises: errors go to the client, and their types to the log."""
        self._task = asyncio.current_task()
        try:
            async with asyncio.timeout(self._reception.limits.authentication_s):
                session, startup = await self._opened()
            if session is not None:
                self._place.stand(Standing.SERVED)
                _log.info("session", analyst=startup, encrypted=self._channel.encrypted)
                with counted_session(self._reception.sessions, startup):
                    await self._converse(session, startup)
        except (PlannerError, ServerError) as error:  # an invalid setting, a busy ledger
            self._channel.send(server_messages.error(client_problem(error), severity="FATAL"))
        except TimeoutError:
            late = WireError("authentication took too long", "08P01")
            self._channel.send(server_messages.error(client_problem(late), severity="FATAL"))
        except asyncio.CancelledError:  # only by `stop` or `_make_room`
            self._channel.send(server_messages.error(client_problem(self._ending), severity="FATAL"))
        except (ssl.SSLError, OSError):
            _log.info("connection broken")
        finally:
            self._channel.close()
            # Until the client has read everything and has closed its side.
            self._place.end = self._channel.abort
            self._place.stand(Standing.STRANGER)

    def stop(self) -> None:
        """End as soon as the current message has been answered."""
        self._stopping = True
        if not self._busy and self._task is not None:
            self._task.cancel()

    def _end_by_owner(self) -> None:
        self._ending = WireError("another session of yours has ended this one", "57P01", hint="connect again")
        self.stop()

    def _make_room(self) -> None:
        """End at once, because another connection needs the place."""
        self._ending = too_many()
        if self._task is None:  # it is not yet served
            self._channel.send(server_messages.error(client_problem(self._ending), severity="FATAL"))
            self._channel.close()
        else:
            self._task.cancel()
        # Its place is free now, and TLS would wait for the client to close.
        asyncio.get_running_loop().call_later(_FAREWELL_S, self._channel.abort)

    async def _opened(self) -> tuple[Session | None, str]:
        """Handle encryption, startup and authentication; None if the connection needs no session."""
        first = await self._message()
        for _ in range(_ENCRYPTIONS):
            if not isinstance(first, m.EncryptionRequest):
                break
            await self._encrypt(first)
            first = await self._message()
        if isinstance(first, m.EncryptionRequest):
            raise ProtocolViolation("encryption was requested too often")
        if isinstance(first, m.CancelRequest):
            self._reception.cancel_keys.cancel(first.process, first.secret)
            return None, ""
        if first is None:
            return None, ""
        assert isinstance(first, m.Startup), "the decoder begins with nothing else"
        user = self._checked(first)
        if first.minor > 0 or any(name.startswith("_pq_.") for name in first.parameters):
            unknown = [name for name in first.parameters if name.startswith("_pq_.")]
            self._channel.send(server_messages.negotiate_protocol(0, unknown))
        await self._authenticate(user)
        practice = self._checked_database(first.parameters.get("database", user))
        gateway, kept = self._reception.gateway, self._reception.kept
        gateway = await on_practice(gateway, user) if practice else gateway
        settings = Settings(user, first.parameters, gateway.schemas, gateway.epsilons)
        return Session(gateway, user, settings, self._channel.send, self._channel.pause, kept), user

    async def _encrypt(self, request: m.EncryptionRequest) -> None:
        certificate = self._reception.certificate
        if not request.tls or certificate is None or self._channel.encrypted:
            self._channel.send(b"N")
            await self._channel.drain()
            return
        if self._decoder.waiting or self._channel.waiting:
            # An attacker on the network could have injected them (CVE-2021-23214).
            raise ProtocolViolation("the client sent data between its request for TLS and the handshake")
        self._channel.send(b"S")
        await self._channel.start_tls(certificate.context, self._reception.limits.authentication_s)

    def _checked(self, startup: m.Startup) -> str:
        """The user's name, after checks of the startup message."""
        user = startup.parameters.get("user", "")
        if not (self._channel.encrypted or self._reception.plain_text or _is_local(self._channel.peer)):
            hint = "connect with sslmode=require"
            raise WireError("this server requires TLS", "28000", hint=hint)
        if not user:
            raise WireError("the startup message names no user", "28000")
        if startup.parameters.get("replication", "false").lower() not in ("false", "off", "no", "0"):
            raise WireError("replication is not supported", "0A000")
        return user

    def _checked_database(self, name: str) -> bool:
        """Check the database's name after authentication, as PostgreSQL does: health checks send any name.

        Returns: is it the practice database?
        """
        real = self._reception.database
        if name not in (real, real + _PRACTICE):
            hint = f"use the data set's name, dbname={real}, or dbname={real}{_PRACTICE} to practise free of charge"
            raise WireError("there is no such database", "3D000", hint=hint)
        return name != real

    async def _authenticate(self, user: str) -> None:
        """Run SCRAM; an unknown name takes the same steps, and fails at the end."""
        certificate = self._reception.certificate
        binding = certificate.hash if certificate is not None and self._channel.encrypted else None
        offered = [scram.BOUND, scram.PLAIN] if binding is not None else [scram.PLAIN]
        self._channel.send(server_messages.authentication(10, b"".join(map(server_messages.text, offered)) + b"\0"))
        await self._channel.drain()
        mechanism, first = sasl_initial(await self._authentication())
        if mechanism not in offered:
            raise ProtocolViolation("the client chose a mechanism that was not offered")
        known = await self._reception.verifier(user)
        exchange = scram.Exchange(mechanism, known or scram.unknown_verifier(user, self._reception.secret), binding)
        self._channel.send(server_messages.authentication(11, exchange.first(first)))
        await self._channel.drain()
        proof = exchange.final(await self._authentication())
        if known is not None and not known.enabled:  # only to a client that holds the key
            raise WireError("your account is disabled", "28000", hint="ask the administrator")
        self._verifier = known
        self._trusted_until = asyncio.get_running_loop().time() + self._reception.limits.trusted_s
        self._channel.send(server_messages.authentication(12, proof) + server_messages.authentication(0))
        self._decoder.authenticated()

    async def _authentication(self) -> bytes:
        message = await self._message()
        if not isinstance(message, m.Authentication):
            raise ProtocolViolation("the client sent another message than its authentication")
        return message.data

    async def _converse(self, session: Session, user: str) -> None:
        keys = self._reception.cancel_keys
        process, secret = keys.add(user, session.cancel, self._end_by_owner)
        session.number(process, partial(keys.stop_own, user))
        self._channel.on_end = session.cancel
        try:
            for name, value in session.settings.reported().items():
                self._channel.send(server_messages.parameter_status(name, value))
            self._channel.send(server_messages.backend_key(process, secret))
            session.ready()
            while (message := await self._next_or_idle()) is not None:
                if message is m.Signal.TERMINATE:
                    return
                await self._check_still_known(user)
                await self._handled(session, message)
                await self._channel.pause()  # clients may send many messages at once
                if self._stopping:
                    raise self._ending
        finally:
            keys.remove(process)
            session.close()

    async def _check_still_known(self, user: str) -> None:
        """Look up the analyst's key now and then, and end the session if the key or the account was disabled."""
        now = asyncio.get_running_loop().time()
        if now < self._trusted_until:
            return
        if await self._reception.verifier(user) != self._verifier:
            raise WireError("your key is no longer valid", "28P01", hint="ask the administrator")
        self._trusted_until = now + self._reception.limits.trusted_s

    async def _next_or_idle(self) -> m.ClientMessage | None:
        if (arrived := self._decoder.next()) is not None:
            return arrived
        try:
            async with asyncio.timeout(self._reception.limits.idle_s):
                return await self._message()
        except TimeoutError:
            raise WireError("the session was idle for too long", "57P05") from None

    async def _handled(self, session: Session, message: m.ClientMessage) -> None:
        """Answer a message, which is cancelled if the client is gone."""
        self._busy = True
        if self._channel.ended.is_set():
            asyncio.get_running_loop().call_soon(session.cancel)  # as soon as it waits
        try:
            await session.handle(message)
        finally:
            self._busy = False

    async def _message(self) -> m.ClientMessage | None:
        """The next message; sends all output before it waits."""
        while (message := self._decoder.next()) is None:
            await self._channel.drain()
            data = await self._channel.receive()
            if not data:
                return None
            self._decoder.feed(data)
        return message


def too_many() -> WireError:
    """The error for a connection beyond the limit."""
    return WireError("too many connections", "53300", hint="try again later")


def sasl_initial(data: bytes) -> tuple[str, bytes]:
    """Decode SASLInitialResponse: the mechanism and the client's first message. Raises: ProtocolViolation."""
    name, zero, rest = data.partition(b"\0")
    length = int.from_bytes(rest[:4], "big", signed=True) if len(rest) >= 4 else -1
    if not zero or length != len(rest) - 4 or not name.isascii():
        raise ProtocolViolation("the client's first step of SASL is malformed")
    return name.decode("ascii"), rest[4:]


def _is_local(peer: str) -> bool:
    return not peer or ipaddress.ip_address(peer.partition("%")[0]).is_loopback


_GRACE_S = 30.0


class Listener:
    """Accepts connections, and serves each in a task of its own.

    Connections without a key cannot block the port, because new connections displace them.
    """

    def __init__(self, reception: ListenerContext) -> None:
        self._reception = reception
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._entrance: Entrance | None = None

    async def start(self, listening: socket.socket) -> None:
        """Serve a bound, listening socket."""
        farewell = server_messages.error(client_problem(too_many()), severity="FATAL")
        most = self._reception.limits.connections
        self._entrance = Entrance(listening, lambda place: _Greeting(self, place), most, farewell=farewell)

    async def stop(self) -> None:
        """Accept no more, give running statements some time, then disconnect."""
        if self._entrance is None:
            return
        self._entrance.close()
        for connection in self._connections.values():
            connection.stop()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=_GRACE_S)

    def greet(self, channel: Channel, place: Place) -> None:
        """Serve a new connection."""
        connection = Connection(channel, self._reception, place)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)


class _Greeting(Channel):
    """A channel that reports its first connection (TLS reconnects it), and leaves its place at the end."""

    def __init__(self, listener: Listener, place: Place) -> None:
        super().__init__()
        self._listener: Listener | None = listener
        self._place = place

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        super().connection_made(transport)
        if self._listener is not None:
            self._listener.greet(self, self._place)
            self._listener = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        super().connection_lost(exc)
        self._place.leave()
