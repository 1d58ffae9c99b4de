"""Releases as bytes and back, exactly: the form in which the ledger keeps them.

One JSON document. Arrays are base64 of little-endian doubles, so that every bit returns, NaN and infinities included;
keys that JSON does not have carry their type. The ledger's hash chain covers the bytes: the same releases always give
the same ones.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from privacy.noisy_answer import Covers, NoiseKind, NoisyAnswer
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import LedgerInvalid

FORMAT = 1
"""To be raised with every change of what is written; older formats stay readable."""

_ARRAYS = ("values", "tau", "noise_scale", "low", "high", "signal")
_KINDS: Mapping[str, Callable[[str], object]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
}
_WORDS = ("confidence", "covers", "mechanism", "epsilon", "delta", "noise")


def encoded(released: Released) -> bytes:
    """Write releases down.

    Returns: UTF-8 of a JSON document; about 70 bytes per group and release, and the keys.
    """
    document = {
        "format": FORMAT,
        "keys": [[_tagged(value) for value in values] for values in released.domain.keys],
        "blocks": released.domain.blocks,
        "selected": released.domain.selected,
        "withheld": released.domain.withheld,
        "releases": [_release(noisy) for noisy in released.noisy],
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def decoded(content: bytes) -> Released:
    """Read what `encoded` wrote.

    Raises: LedgerInvalid for anything else.
    """
    try:
        document = json.loads(content)
        if document["format"] != FORMAT:
            raise LedgerInvalid(
                "a kept answer is of another format", hint="use the Noisegate that wrote it, or newer"
            )
        keys = tuple(tuple(map(_untagged, values)) for values in document["keys"])
        blocks = tuple(tuple(block) for block in document["blocks"])
        domain = Domain(keys, blocks, document["selected"], document["withheld"])
        return Released(domain, tuple(_noisy(release, len(domain)) for release in document["releases"]))
    except (
        ValueError,
        ArithmeticError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise LedgerInvalid("a kept answer cannot be read", hint="run noisegate ledger verify") from error


def _release(noisy: NoisyAnswer) -> dict[str, object]:
    arrays = {name: _packed(getattr(noisy, name)) for name in _ARRAYS}
    return arrays | {name: getattr(noisy, name) for name in _WORDS}


def _noisy(release: dict[str, Any], n_groups: int) -> NoisyAnswer:
    arrays = {name: _unpacked(release[name]) for name in _ARRAYS}
    if any(len(array) != n_groups for array in arrays.values()) or release["covers"] not in get_args(Covers):
        raise ValueError("a release has one value per group, and covers something")
    if release["noise"] not in get_args(NoiseKind):
        raise ValueError("there is no such noise")
    values, tau, noise_scale, low, high, signal = (arrays[name] for name in _ARRAYS)
    return NoisyAnswer(
        values=values,
        tau=tau,
        noise_scale=noise_scale,
        low=low,
        high=high,
        signal=signal,
        confidence=float(release["confidence"]),
        covers=release["covers"],
        mechanism=str(release["mechanism"]),
        epsilon=float(release["epsilon"]),
        delta=float(release["delta"]),
        noise=release["noise"],
    )


def _packed(array: NDArray[np.float64]) -> str:
    return base64.b64encode(array.astype("<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> NDArray[np.float64]:
    return np.frombuffer(binascii.a2b_base64(text), "<f8").astype(np.float64)


def _tagged(value: object) -> object:
    """A key as JSON has it; a date, a time or a decimal as a pair of its kind and its text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, datetime):  # before date, of which it is a kind
        return ["datetime", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    return ["decimal", str(value)] if isinstance(value, Decimal) else str(value)


def _untagged(value: object) -> object:
    if not isinstance(value, list):
        return value
    kind, text = value
    return _KINDS[kind](text)
