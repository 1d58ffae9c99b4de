"""The hash chain: an entry cannot be changed, left out or moved without changing the hash of every later one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def canonical(content: Mapping[str, object]) -> str:
    """The one text of a content: JSON in ASCII, sorted, without spaces; no floats, whose spelling could change."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def chained(
    previous: bytes, number: int, at_ms: int, kind: str, instance: str, operation: int, content: str
) -> bytes:
    """SHA-256 over the previous entry's hash and everything of this one, 32 bytes.

    Args:
      previous: 32 bytes.
      content: canonical. The other texts go through JSON, too, so no two entries give the same bytes.
    """
    heading = json.dumps([number, at_ms, kind, instance, operation], separators=(",", ":"))
    return hashlib.sha256(b"%b%b\n%b" % (previous, heading.encode(), content.encode())).digest()
