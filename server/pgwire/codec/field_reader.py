"""Reading the fields of one message: whatever is not there, too long or not text is a violation of the protocol."""

from __future__ import annotations

import struct

from server.pgwire.errors import ProtocolViolation


class FieldReader:
    """A cursor over the body of one message.

    Args:
      body: without type and length.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._place = 0

    def byte(self) -> int:
        """An unsigned number of one byte. Raises: ProtocolViolation where the message ends before it."""
        return self.raw(1)[0]

    def int16(self) -> int:
        """A signed number of two bytes."""
        return int(struct.unpack("!h", self.raw(2))[0])

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int(struct.unpack("!i", self.raw(4))[0])

    def count(self) -> int:
        """How many fields follow: two bytes, not negative. Raises: ProtocolViolation."""
        count = self.int16()
        if count < 0:
            raise ProtocolViolation("a message announces a negative number of fields")
        return count

    def text(self) -> str:
        """UTF-8 up to a zero byte. Raises: ProtocolViolation."""
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise ProtocolViolation("a text of a message does not end")
        raw = self._body[self._place : end]
        self._place = end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ProtocolViolation("a text of a message is not UTF-8", code="22021") from None

    def value(self) -> bytes | None:
        """A length of four bytes and as many bytes; -1 is NULL."""
        length = self.int32()
        if length == -1:
            return None
        return self.raw(length)

    def raw(self, length: int) -> bytes:
        """The next `length` bytes. Raises: ProtocolViolation where the message ends before them."""
        if not 0 <= length <= len(self._body) - self._place:
            raise ProtocolViolation("a message is shorter than its fields")
        raw = self._body[self._place : self._place + length]
        self._place += length
        return raw

    def rest(self) -> bytes:
        """All bytes up to the end of the message."""
        return self.raw(len(self._body) - self._place)

    def end(self) -> None:
        """Nothing may be left. Raises: ProtocolViolation."""
        if self._place != len(self._body):
            raise ProtocolViolation("a message is longer than its fields")
