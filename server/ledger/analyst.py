"""The people and programs that hold keys."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Role = Literal["analyst", "auditor", "admin"]
"""`analyst` asks; `auditor` reads the ledger; `admin` changes who may do what. No role includes another."""


@dataclass(frozen=True, repr=False)
class Credentials:
    """What the ledger keeps of a key.

    Attributes:
      key_hash: from `server.ledger.api_keys.key_hash`, for HTTP.
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
