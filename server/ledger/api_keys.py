"""API keys: 256 random bits that a client keeps and the ledger knows only by a hash and a verifier."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from server.ledger.analyst import Credentials

PREFIX = "ng_"
"""Keys begin with it, so that people and secret scanners know one when they see it."""


SCRAM_ITERATIONS = 4096  # RFC 7677's least: the key has 256 bits of entropy, so stretching it adds nothing
_SALT_BYTES = 16


def new_key() -> str:
    """A fresh key: the prefix and 43 characters of base64url, 256 bits from the operating system."""
    return PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> str:
    """SHA-256 of the key in hex. No salt and no stretching: the key has 256 bits of entropy, a password has not."""
    return hashlib.sha256(key.encode()).hexdigest()


def credentials_of(key: str) -> Credentials:
    """What the ledger keeps of a key, for HTTP and for the wire protocol; neither gives the key away."""
    return Credentials(key_hash(key), scram_verifier(key, secrets.token_bytes(_SALT_BYTES)))


def scram_verifier(key: str, salt: bytes) -> str:
    """What a server needs to check a key by SCRAM-SHA-256, as PostgreSQL writes it.

    Args:
      key: ASCII, so that SASLprep changes nothing.
      salt: fresh random bytes.
    Returns: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, the parts in base64.
    Source: RFC 5802, section 3; RFC 7677.
    """
    salted = hashlib.pbkdf2_hmac("sha256", key.encode("ascii"), salt, SCRAM_ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored, server = (base64.b64encode(part).decode("ascii") for part in (salt, stored_key, server_key))
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{salt_text}${stored}:{server}"
