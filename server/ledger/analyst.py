"""Who holds keys, and the keys: 256 random bits that the ledger knows only by a hash and a verifier."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal

Role = Literal["analyst", "auditor", "admin"]
"""`analyst` asks; `auditor` reads the ledger; `admin` changes who may do what. No role includes another."""


@dataclass(frozen=True, repr=False)
class Credentials:
    """What the ledger keeps of a key.

    Attributes:
      key_hash: from `server.ledger.analyst.key_hash`, for HTTP.
      scram_verifier: `SCRAM-SHA-256$<iterations>:<salt>$<stored>:<server>` for the wire protocol; empty for none.
    """

    key_hash: str
    scram_verifier: str = ""

    @property
    def fingerprint(self) -> str:
        """What entries say of them: SHA-256 in hex, with which nobody can log in or pretend to be the server."""
        return hashlib.sha256(f"{self.key_hash}\n{self.scram_verifier}".encode()).hexdigest()

    def __repr__(self) -> str:
        return "Credentials(...)"


@dataclass(frozen=True)
class Analyst:
    """Who may ask.

    Attributes:
      name: 1 to 64 ASCII letters, digits and `_`, `.`, `@`, `-`; a new one begins with none of the last three.
      role: what the key opens.
      group: the group whose account also pays, or None.
      enabled: False once disabled: the key opens nothing.
    """

    name: str
    role: Role
    group: str | None
    enabled: bool


@dataclass(frozen=True)
class Act:
    """Who changes the ledger, and why; both stand in the entry.

    Attributes:
      by: an admin's name, or `cli` for the custodian's shell.
      reason: free text of the admin; at most 1000 characters.
    """

    by: str = "cli"
    reason: str = ""


CUSTODIAN = Act()
"""The custodian's shell, without a reason."""


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
