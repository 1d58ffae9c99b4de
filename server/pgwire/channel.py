"""Bytes to and from one client, with TLS after the client's request."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from server.connections import STALL_S

_FLUSH_BYTES = 1 << 16
_PAUSE_BYTES = 1 << 20


class Channel(asyncio.Protocol):
    """A connection with buffers in both directions: `receive` takes input, `drain` sends output.

    Reading pauses while a megabyte of input waits, so a client cannot fill the memory.

    Attributes:
      ended, on_end: set, and called, once the client is gone.
    """

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._out = bytearray()
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._stalled: asyncio.TimerHandle | None = None
        self.ended = asyncio.Event()
        self.on_end: Callable[[], None] = lambda: None
        self.encrypted = False

    @property
    def waiting(self) -> int:
        """The number of input bytes that wait."""
        return len(self._arrived)

    @property
    def peer(self) -> str:
        """The client's address; empty for a Unix socket."""
        address = self._transport.get_extra_info("peername")
        return str(address[0]) if isinstance(address, tuple) else ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open, or TLS has started."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Buffer input, and pause reading if too much waits."""
        self._arrived += data
        if len(self._arrived) >= _PAUSE_BYTES:
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._forget_stall()
        self.ended.set()
        self.on_end()
        self._news.set()
        self._writable.set()

    def pause_writing(self) -> None:
        """The client reads too slowly; disconnect it if it does not read for a while."""
        self._writable.clear()
        self._stalled = asyncio.get_running_loop().call_later(STALL_S, self._transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._forget_stall()
        self._writable.set()

    async def receive(self) -> bytes:
        """The input so far, once there is some; empty at the end."""
        while not self._arrived and not self.ended.is_set():
            self._news.clear()
            await self._news.wait()
        data = bytes(self._arrived)
        self._arrived.clear()
        if len(data) >= _PAUSE_BYTES and not self.ended.is_set():
            self._transport.resume_reading()
        return data

    def send(self, data: bytes) -> None:
        """Buffer output; `drain` sends it at the latest."""
        self._out += data
        if len(self._out) >= _FLUSH_BYTES:
            self._flush()

    async def drain(self) -> None:
        """Send the buffered output, and wait while the client reads slowly."""
        self._flush()
        await self._writable.wait()

    async def pause(self) -> None:
        """Let other tasks run, and wait while the client reads slowly, without sending the buffer."""
        await asyncio.sleep(0)
        await self._writable.wait()

    def _forget_stall(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    async def start_tls(self, context: ssl.SSLContext, timeout_s: float) -> None:
        """Start TLS. Raises: ssl.SSLError, OSError if the handshake fails."""
        await self.drain()
        loop = asyncio.get_running_loop()
        try:
            encrypted = await loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=timeout_s
            )
        except BaseException as error:  # the loop does not always report the loss of a connection in its handshake
            self.abort()
            self.connection_lost(error if isinstance(error, OSError) else None)
            raise
        assert encrypted is not None, "the client is there"
        self._transport, self.encrypted = encrypted, True

    def close(self) -> None:
        """Send the buffered output, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once, and drop unsent output."""
        self._transport.abort()

    def _flush(self) -> None:
        if self._out and not self.ended.is_set():
            self._transport.write(bytes(self._out))
        self._out.clear()
