"""Encrypt question texts for the ledger. Off unless the policy names a key file.

Each text is encrypted by ChaCha20-Poly1305 (RFC 8439) under a random nonce, and bound to its ledger and charge:
beside another charge it cannot be decrypted. The charge's entry holds the encrypted bytes, so the hash chain covers
them. They reveal the text's length, rounded up to PAD_BYTES.

A key file has one key per line, the newest first. The first key encrypts, all keys decrypt. To rotate, add a line at
the top. Texts of a removed key cannot be decrypted any more.
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
"""Texts are padded to a multiple of this."""

MAX_TEXT_BYTES = 16_384
"""Longer statements are truncated, so that questions that are never charged cannot fill the ledger."""

_PREFIX = "ngq_"
"""The prefix of a key in its file, so that nobody takes it for an API key."""

_KEY_BYTES, _NONCE_BYTES, _ID_LETTERS = 32, 12, 16
_VERSION = "1"

Sealing = Callable[[int], str]
"""Takes the number of a charge and returns the text encrypted for that charge, in ASCII."""


@dataclass(frozen=True, repr=False)
class AskedText:
    """What an analyst sent.

    Attributes:
      sql: the statement as written.
      cut: was it longer than MAX_TEXT_BYTES? Then it is truncated and has no values.
    """

    sql: str
    parameters: tuple[Value, ...] = ()
    cut: bool = False

    @property
    def shown(self) -> str:
        """The statement in readable form, with its parameter values listed below it."""
        values = ", ".join(f"${number} = {value!r}" for number, value in enumerate(self.parameters, 1))
        below = "the statement goes on" if self.cut else values
        return f"{self.sql}\n-- {below}" if below else self.sql

    @property
    def plain(self) -> list[str | int | float | bool | None]:
        """The parameter values as JSON values; a type that JSON lacks becomes text."""
        return [_spelled(value) for value in self.parameters]

    @property
    def stored(self) -> bytes:
        """The text as bytes before encryption: JSON, truncated if it is too long."""
        said = {"sql": self.sql, "parameters": self.plain}
        whole = json.dumps(said).encode()
        if len(whole) <= MAX_TEXT_BYTES:
            return whole
        return json.dumps({"sql": self.sql[: MAX_TEXT_BYTES // 12], "parameters": [], "cut": True}).encode()

    @classmethod
    def read(cls, stored: bytes) -> AskedText:
        """Parse the decrypted bytes."""
        said = json.loads(stored)
        return cls(said["sql"], tuple(said["parameters"]), said.get("cut", False))


@dataclass(frozen=True, repr=False)
class QuestionKeys:
    """The keys of one file.

    Attributes:
      keys: the keys by their public names, the newest first.
    """

    keys: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> QuestionKeys:
        """Read a key file. Raises: ConfigurationInvalid, whose text contains no key."""
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
        """Return a function that encrypts the text once the charge's number is known. Its `repr` hides the text."""
        return lambda number: self.encrypted(ledger, number, text)

    def encrypted(self, ledger: str, number: int, text: AskedText) -> str:
        """Encrypt a text for an entry, in ASCII."""
        name, key = next(iter(self.keys.items()))
        nonce = os.urandom(_NONCE_BYTES)
        encrypted = ChaCha20Poly1305(key).encrypt(nonce, _padded(text.stored), _bound_to(ledger, number))
        return f"{_VERSION}.{name}.{base64.b64encode(nonce + encrypted).decode()}"

    def decrypted(self, ledger: str, number: int, encrypted: str) -> AskedText:
        """Decrypt the text of a charge.

        Raises: LedgerInvalid if the file lacks the key, or the bytes were not encrypted for this charge.
        """
        version, _, rest = encrypted.partition(".")
        name, _, text = rest.partition(".")
        if version != _VERSION or name not in self.keys:
            raise LedgerInvalid(
                f"The question of charge {number} was encrypted with the key {name}, which is not in the key file.",
                hint=f"The file has {', '.join(self.keys)}.",
            )
        try:
            raw = base64.b64decode(text, validate=True)
            whole = ChaCha20Poly1305(self.keys[name]).decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _bound_to(ledger, number)
            )
        except (InvalidTag, binascii.Error, ValueError):
            raise LedgerInvalid(f"The question of charge {number} was not encrypted for it.") from None
        return AskedText.read(_unpadded(whole))


def new_question_key() -> str:
    """Generate a line of a key file."""
    return _PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def add_key(path: Path) -> str:
    """Put a new key first in a file. A new file is readable by its owner only.

    Returns: the key's public name.
    Raises: ConfigurationInvalid for a file with other content, or one that cannot be written.
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
    """The public name of a key in entries; it reveals nothing of the key."""
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
