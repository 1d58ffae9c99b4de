"""The words of questions, sealed with a custodian's key before the ledger keeps them; off unless a policy names one.

Each text is sealed by ChaCha20-Poly1305 (RFC 8439) under a random nonce, and bound to its ledger and to the number of
its charge: put beside another charge it does not open. The entry of the charge holds the sealed bytes, so that the
chain of hashes covers them. Their length tells the text's to within PAD_BYTES, and nothing else of it.

A key file has one key per line, the newest first: it seals, and all of them open. So a key is rotated by a new first
line, and texts of a key whose line is taken out can be opened by nobody any more.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import secrets
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from planner.binding.placeholders import Value
from server.errors import ConfigurationInvalid, LedgerInvalid

PAD_BYTES = 256
"""Texts are filled up to a multiple of so many bytes."""

MAX_TEXT_BYTES = 16_384
"""Of a statement no more is kept, so that nobody makes the ledger grow by questions that are never charged."""

_PREFIX = "ngq_"
"""Of a key in its file, so that it is not taken for one that opens the proxy."""

_KEY_BYTES, _NONCE_BYTES, _ID_LETTERS = 32, 12, 16
_VERSION = "1"

Sealing = Callable[[int], str]
"""The sealed text for a charge of that number, in ASCII."""


@dataclass(frozen=True, repr=False)
class AskedText:
    """What an analyst sent.

    Attributes:
      sql: the statement as it was written.
      cut: was it longer than MAX_TEXT_BYTES? Then it ends there, and has no values.
    """

    sql: str
    parameters: tuple[Value, ...] = ()
    cut: bool = False

    @property
    def shown(self) -> str:
        """For people: the statement, and below it the values where there are some."""
        values = ", ".join(f"${number} = {value!r}" for number, value in enumerate(self.parameters, 1))
        below = "the statement goes on" if self.cut else values
        return f"{self.sql}\n-- {below}" if below else self.sql

    @property
    def plain(self) -> list[str | int | float | bool | None]:
        """The values as JSON has them; what it has not, as text."""
        return [_spelled(value) for value in self.parameters]

    @property
    def kept(self) -> bytes:
        """The words as bytes, before they are sealed: JSON, cut where they are too long."""
        said = {"sql": self.sql, "parameters": self.plain}
        whole = json.dumps(said).encode()
        if len(whole) <= MAX_TEXT_BYTES:
            return whole
        return json.dumps({"sql": self.sql[: MAX_TEXT_BYTES // 12], "parameters": [], "cut": True}).encode()

    @classmethod
    def read(cls, kept: bytes) -> AskedText:
        """The words again, from the bytes that were sealed."""
        said = json.loads(kept)
        return cls(said["sql"], tuple(said["parameters"]), said.get("cut", False))


@dataclass(frozen=True, repr=False)
class QuestionKeys:
    """The keys of one file.

    Attributes:
      keys: by their public names, the newest first.
    """

    keys: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> QuestionKeys:
        """The keys of a file. Raises: ConfigurationInvalid, which never tells a key."""
        hint = "noisegate ledger new-question-key FILE makes one"
        try:
            lines = path.read_text(encoding="ascii").split()
        except FileNotFoundError:
            raise ConfigurationInvalid(f"There is no question key file {path.name}.", hint=hint) from None
        except (OSError, ValueError):
            raise ConfigurationInvalid(f"The question key file {path.name} cannot be read.", hint=hint) from None
        if not lines:
            raise ConfigurationInvalid(f"The question key file {path.name} is empty.", hint=hint)
        return cls({_name(key): key for key in (_key(line, path.name) for line in lines)})

    def sealing(self, ledger: str, text: AskedText) -> Sealing:
        """A text that the ledger will seal once it knows the charge's number; no `repr` shows it."""
        return lambda number: self.sealed(ledger, number, text)

    def sealed(self, ledger: str, number: int, text: AskedText) -> str:
        """A text as the entry of a charge keeps it, in ASCII."""
        name, key = next(iter(self.keys.items()))
        nonce = os.urandom(_NONCE_BYTES)
        sealed = ChaCha20Poly1305(key).encrypt(nonce, _padded(text.kept), _bound_to(ledger, number))
        return f"{_VERSION}.{name}.{base64.b64encode(nonce + sealed).decode()}"

    def opened(self, ledger: str, number: int, sealed: str) -> AskedText:
        """The text of a charge, from what its entry keeps.

        Raises: LedgerInvalid where no key of the file is the one, or the bytes were not sealed for this charge.
        """
        version, _, rest = sealed.partition(".")
        name, _, text = rest.partition(".")
        if version != _VERSION or name not in self.keys:
            raise LedgerInvalid(
                f"The question of charge {number} was sealed with the key {name}, which is not in the key file.",
                hint=f"The file has {', '.join(self.keys)}.",
            )
        try:
            raw = base64.b64decode(text, validate=True)
            whole = ChaCha20Poly1305(self.keys[name]).decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bound_to(ledger, number)
            )
        except (InvalidTag, binascii.Error, ValueError):
            raise LedgerInvalid(f"The question of charge {number} is not what was sealed for it.") from None
        return AskedText.read(_unpadded(whole))


def new_question_key() -> str:
    """A new key as a line of its file."""
    return _PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def add_key(path: Path) -> str:
    """Make a key the first one of a file, or make the file, which only its owner can read.

    Returns: the key's public name.
    Raises: ConfigurationInvalid for a file that holds anything else, or cannot be written.
    """
    old = path.read_text(encoding="ascii") if path.exists() else ""
    if old:
        QuestionKeys.read(path)
    line = new_question_key()
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(f"{line}\n{old}")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        raise ConfigurationInvalid(f"The question key file {path.name} could not be written.") from None
    finally:
        beside.unlink(missing_ok=True)
    return _name(_key(line, path.name))


def _key(line: str, file: str) -> bytes:
    try:
        if not line.startswith(_PREFIX):
            raise ValueError
        key = base64.b64decode(line[len(_PREFIX) :], altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigurationInvalid(
            f"A line of the question key file {file} is no key.", hint="noisegate ledger new-question-key makes one"
        )
    return key


def _name(key: bytes) -> str:
    """What a key is called in entries; nothing of it follows from that."""
    return hashlib.sha256(b"noisegate question key\n" + key).hexdigest()[:_ID_LETTERS]


def _bound_to(ledger: str, number: int) -> bytes:
    return f"noisegate question\n{_VERSION}\n{ledger}\n{number}".encode()


def _padded(text: bytes) -> bytes:
    whole = struct.pack(">I", len(text)) + text
    return whole.ljust(-(-len(whole) // PAD_BYTES) * PAD_BYTES, b"\0")


def _unpadded(whole: bytes) -> bytes:
    (length,) = struct.unpack(">I", whole[:4])
    return whole[4 : 4 + length]


def _spelled(value: Value) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
