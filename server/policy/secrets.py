"""Secrets that the policy names, and the key for digests of closed rows, a file beside the policy.

A name is `env:NAME` or `file:PATH`. Neither the ledger nor a client sees the key: with it, a reader of the ledger
could guess a period's rows and check the guess by its digest. Losing the key costs budget alone: closed periods can
no longer be compared, and count as new.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from server.backends.files import FILE_URLS, at_folder
from server.errors import ConfigurationInvalid

_PLAIN = ("postgresql://", "postgres://")


def resolve(reference: str, base: Path = Path()) -> str:
    """The secret that a reference names.

    Args:
      reference: `env:NAME` or `file:PATH`; relative paths start at `base`, also those in a URL of files. A database
        URL stands for itself, since the policy accepts none with a password.
    Raises: ConfigurationInvalid if it is absent or empty; the message names the reference, never a value.
    """
    if reference.startswith(_PLAIN):
        return reference
    if reference.startswith(FILE_URLS):
        return at_folder(reference, base)
    kind, _, name = reference.partition(":")
    if kind == "env" and name:
        secret = os.environ.get(name, "")
    elif kind == "file" and name:
        path = base / name
        secret = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    else:
        raise ConfigurationInvalid("a secret must be a reference: env:NAME or file:PATH")
    if not secret:
        raise ConfigurationInvalid(f"the secret {reference} is not set", hint="set it before starting the proxy")
    return secret


_BYTES = 32
_SUFFIX = ".periods-key"


def periods_key(policy_path: Path) -> bytes:
    """The key beside a policy file; made if there is none, readable by its owner only.

    Raises: ConfigurationInvalid for a file that is not a key, or cannot be made.
    """
    path = policy_path.with_name(policy_path.name + _SUFFIX)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise ConfigurationInvalid(f"{path.name} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        key = secrets.token_bytes(_BYTES)
        file.write(key.hex())
        file.flush()
        os.fsync(file.fileno())
    return key


def key_name(key: bytes) -> str:
    """The name of a key in the ledger."""
    return hashlib.sha256(b"periods key " + key).hexdigest()[:16]


def _read(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        key = b""
    if len(key) != _BYTES:
        hint = "restore it from a backup, or remove it, and closed periods count as new"
        raise ConfigurationInvalid(f"{path.name} holds no periods key", hint=hint)
    return key
