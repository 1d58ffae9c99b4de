"""API keys: 256 random bits that a client keeps and the ledger knows only by their hash."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "ng_"
"""Keys begin with it, so that people and secret scanners know one when they see it."""


def new_key() -> str:
    """A fresh key: the prefix and 43 characters of base64url, 256 bits from the operating system."""
    return PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> str:
    """SHA-256 of the key in hex. No salt and no stretching: the key has 256 bits of entropy, a password has not."""
    return hashlib.sha256(key.encode()).hexdigest()
