"""Analysts and their API keys: 256 random bits, of which the ledger stores a hash and a SCRAM verifier."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal

Role = Literal["analyst", "auditor", "admin"]
"""`analyst` asks questions, `auditor` reads the ledger, `admin` changes permissions. No role includes another."""


@dataclass(frozen=True, repr=False)
class Credentials:
    """What the ledger stores of an API key.

    Attributes:
      key_hash: for HTTP, from `key_hash`.
      scram_verifier: for PostgreSQL's wire protocol, `SCRAM-SHA-256$<iterations>:<salt>$<stored>:<server>`; or empty.
    """

    key_hash: str
    scram_verifier: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of both in hex, for ledger entries. Nobody can log in or impersonate the server with it."""
        return hashlib.sha256(f"{self.key_hash}\n{self.scram_verifier}".encode()).hexdigest()

    def __repr__(self) -> str:
        return "Credentials(...)"


@dataclass(frozen=True)
class Analyst:
    """The holder of a key.

    Attributes:
      name: 1 to 64 ASCII letters, digits, `_`, `.`, `@` and `-`; new names start with a letter, a digit or `_`.
      role: what the key permits.
      group: the group whose account also pays, or None.
      enabled: False: the key is rejected.
    """

    name: str
    role: Role
    group: str | None
    enabled: bool


@dataclass(frozen=True)
class Act:
    """Who changes the ledger and why. Every such entry records both.

    Attributes:
      by: an admin's name, or `cli` for a shell on the server.
      reason: free text of at most 1000 characters.
    """

    by: str = "cli"
    reason: str = ""


ADMINISTRATOR = Act()
"""A shell on the server, without a reason."""


PREFIX = "ng_"
"""The prefix of every key, so that people and secret scanners recognise one."""


SCRAM_ITERATIONS = 4096  # RFC 7677's least: the key has 256 bits of entropy, so stretching it adds nothing
_SALT_BYTES = 16


def new_key() -> str:
    """A new key: the prefix and 43 characters of base64url, 256 bits from the operating system."""
    return PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> str:
    """SHA-256 of a key in hex. It needs no salt and no stretching, since a key has 256 bits of entropy."""
    return hashlib.sha256(key.encode()).hexdigest()


def credentials_of(key: str) -> Credentials:
    """The credentials to store for a key. The key cannot be computed from them."""
    return Credentials(key_hash(key), scram_verifier(key, secrets.token_bytes(_SALT_BYTES)))


def scram_verifier(key: str, salt: bytes) -> str:
    """A SCRAM-SHA-256 verifier in PostgreSQL's format.

    Args:
      key: ASCII, so SASLprep leaves it unchanged.
      salt: fresh random bytes.
    Returns: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, the parts in base64.
    Source: RFC 5802, section 3; RFC 7677.
    """
    salted = hashlib.pbkdf2_hmac("sha256", key.encode("ascii"), salt, SCRAM_ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    salt_text, stored, server = (base64.b64encode(part).decode("ascii") for part in (salt, stored_key, server_key))
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{salt_text}${stored}:{server}"
