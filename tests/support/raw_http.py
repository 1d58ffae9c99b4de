"""A client with as little work of its own as HTTP allows, for measuring servers."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class RawClient:
    """One connection that is kept open; one request at a time.

    Args:
      port: on the loopback interface.
      key: an analyst's.
    """

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, sql: str, epsilon: float) -> tuple[int, dict[str, Any]]:
        """POST a question; its status and its body."""
        body = json.dumps({"sql": sql, "epsilon": epsilon}).encode()
        head = f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._key}\r\n"
        return await self._exchange(
            f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )

    async def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """GET a JSON body."""
        return await self._exchange(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._key}\r\n\r\n".encode()
        )

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()

    async def _exchange(self, sent: bytes) -> tuple[int, dict[str, Any]]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = json.loads(await reader.readexactly(length))
        return int(head.split(b" ", 2)[1]), body
