"""Secrets are named in the policy and live elsewhere: `env:NAME` or `file:PATH`."""

from __future__ import annotations

import os
from pathlib import Path

from server.backends.custody.file_urls import FILE_URLS, at_folder
from server.errors import ConfigurationInvalid

_PLAIN = ("postgresql://", "postgres://")


def resolve(reference: str, base: Path = Path()) -> str:
    """The secret that a reference names.

    Args:
      reference: `env:NAME` or `file:PATH`; a relative path starts at `base`, also that of a URL of files. A
        database URL stands for itself: the policy lets none through that holds a password.
    Raises: ConfigurationInvalid when it is absent or empty; the message names the reference, never a value.
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
        raise ConfigurationInvalid("a secret is named as env:NAME or file:PATH")
    if not secret:
        raise ConfigurationInvalid(f"the secret {reference} is not set", hint="set it before starting the proxy")
    return secret
