"""Encode releases as bytes for the ledger, and decode them exactly.

Format 4 is `NG`, the number of the format, and a zlib stream: the length of a JSON document, the document, and
arrays. The document holds an outline of the question where other answers may be derived from it. Every bit of a
double returns, NaN and infinities included. Interval ends, noise scale and signal are almost functions of values and
tau. So only the difference of their bits is written, byte by byte, which packs well. Keys that JSON lacks carry their
type.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from planner.reuse.outline import Outline
from privacy.noisy_answer import Covers, Exceeding, NoiseKind, NoisyAnswer
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import LedgerInvalid

Floats = NDArray[np.float64]

FORMAT = 4
"""Raise it with every change. After the first release, older formats stay readable."""

_MAGIC = b"NG" + bytes([FORMAT])
_OUTLINES = TypeAdapter(Outline)
_LENGTH = struct.Struct("<Q")
_LEVEL = 6
_MOST_BYTES = 1 << 29
"""Limit of unpacked bytes: ten times an answer of a million cells."""

_ARRAYS = ("values", "tau", "noise_scale", "low", "high", "signal")
_DAMAGE = (
    ValueError,
    ArithmeticError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    struct.error,
    zlib.error,
)
"""Errors that bytes raise which are no answer."""

_KINDS: Mapping[str, Callable[[str], object]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
}
_WORDS = ("confidence", "covers", "mechanism", "epsilon", "delta", "noise")


def encoded(released: Released) -> bytes:
    """Encode releases.

    Returns: format 4; some ten bytes per group and release, and the keys.
    Cost: a second per million values.
    """
    arrays: list[bytes] = []
    document = {
        "keys": [[_tagged(value) for value in values] for values in released.domain.keys],
        "blocks": released.domain.blocks,
        "selected": released.domain.selected,
        "withheld": released.domain.withheld,
        "releases": [_release(noisy, arrays) for noisy in released.noisy],
        **({} if released.outline is None else {"outline": _OUTLINES.dump_python(released.outline, mode="json")}),
    }
    head = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    packer = zlib.compressobj(_LEVEL)
    packed = [packer.compress(part) for part in (_LENGTH.pack(len(head)), head, *arrays)]
    return b"".join((_MAGIC, *packed, packer.flush()))


def decoded(content: bytes) -> Released:
    """Decode what `encoded` wrote.

    Raises: LedgerInvalid for anything else.
    """
    try:
        if content[: len(_MAGIC)] != _MAGIC:
            raise LedgerInvalid(
                "a cached answer is of another format", hint="use the Noisegate that wrote it, or newer"
            )
        unpacker = zlib.decompressobj()
        whole = memoryview(unpacker.decompress(content[len(_MAGIC) :], _MOST_BYTES))
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("the stream does not end where it should")
        start = _LENGTH.size + _LENGTH.unpack_from(whole)[0]
        document = json.loads(bytes(whole[_LENGTH.size : start]))
        domain = _domain(document)
        size = 8 * len(domain) * len(_ARRAYS)
        if len(whole) != start + size * len(document["releases"]):
            raise ValueError("the arrays are of another length")
        ends = (start + size * place for place in range(len(document["releases"])))
        parts = (bytes(whole[end : end + size]) for end in ends)
        pairs = zip(document["releases"], parts, strict=True)
        noisy = tuple(_noisy(one, _restored(part, one["ratios"], len(domain))) for one, part in pairs)
        return Released(domain, noisy, _outline(document))
    except _DAMAGE as error:
        raise LedgerInvalid("a cached answer cannot be read", hint="run noisegate ledger verify") from error


def outline_in(content: bytes) -> Outline | None:
    """Decode the outline alone; None where there is none.

    Raises: LedgerInvalid for bytes that are no answer.
    Cost: that of the keys.
    """
    try:
        unpacker = zlib.decompressobj()
        whole = unpacker.decompress(content[len(_MAGIC) :], _LENGTH.size)
        (size,) = _LENGTH.unpack_from(whole)
        if size > _MOST_BYTES:
            raise ValueError("the document is too long")
        text = b""
        while len(text) < size:
            part = unpacker.decompress(unpacker.unconsumed_tail, size - len(text))
            if not part and not unpacker.unconsumed_tail:
                raise ValueError("the document ends too early")
            text += part
        return _outline(json.loads(text))
    except _DAMAGE as error:
        raise LedgerInvalid("a cached answer cannot be read", hint="run noisegate ledger verify") from error


def _outline(document: Mapping[str, Any]) -> Outline | None:
    return _OUTLINES.validate_python(document["outline"]) if "outline" in document else None


def _domain(document: dict[str, Any]) -> Domain:
    keys = tuple(tuple(map(_untagged, values)) for values in document["keys"])
    blocks = tuple(tuple(block) for block in document["blocks"])
    return Domain(keys, blocks, document["selected"], document["withheld"])


def _release(noisy: NoisyAnswer, arrays: list[bytes]) -> dict[str, object]:
    """Return a release without its arrays, and append these to `arrays`."""
    ratios = _ratios(noisy)
    known: dict[str, Floats] = {}
    for name in _ARRAYS:
        known[name] = np.ascontiguousarray(getattr(noisy, name), np.float64)
        arrays.append(_shuffled(_bits(known[name]) - _bits(_expected(name, known, ratios, len(known[name])))))
    more = {} if noisy.exceeding is None else {"exceeding": asdict(noisy.exceeding)}
    return {"ratios": [ratio.hex() for ratio in ratios]} | {name: getattr(noisy, name) for name in _WORDS} | more


def _restored(content: bytes, ratios: Sequence[str], n_groups: int) -> dict[str, Floats]:
    size = 8 * n_groups
    exact = [float.fromhex(ratio) for ratio in ratios]
    known: dict[str, Floats] = {}
    for place, name in enumerate(_ARRAYS):
        difference = _unshuffled(content[place * size : (place + 1) * size], n_groups)
        known[name] = (_bits(_expected(name, known, exact, n_groups)) + difference).view(np.float64)
    return known


def _ratios(noisy: NoisyAnswer) -> tuple[float, float, float]:
    """Return the ratios scale to tau, half interval to scale, and signal to value over tau, from one group.

    They are equal in all groups, but for rounding.
    """
    with np.errstate(all="ignore"):
        scale = noisy.noise_scale / noisy.tau
        half = (noisy.values - noisy.low) / noisy.noise_scale
        signal = noisy.signal * noisy.tau / noisy.values
    usable = np.flatnonzero(np.isfinite(scale) & np.isfinite(half) & np.isfinite(signal))
    if not len(usable):
        return 0.0, 0.0, 0.0
    first = int(usable[np.argmax(np.abs(noisy.values[usable]))])  # cancellation costs the largest value least
    return float(scale[first]), float(half[first]), float(signal[first])


def _expected(name: str, known: Mapping[str, Floats], ratios: Sequence[float], n_groups: int) -> Floats:
    """Predict an array from those before it. Each step rounds once by IEEE 754, alike on all machines."""
    scale, half, signal = ratios
    if name in ("values", "tau"):
        return np.zeros(n_groups)
    with np.errstate(all="ignore"):
        guess = {
            "noise_scale": lambda: known["tau"] * scale,
            "low": lambda: known["values"] - known["noise_scale"] * half,
            "high": lambda: known["values"] + (known["values"] - known["low"]),
            "signal": lambda: known["values"] * signal / known["tau"],
        }[name]()
    return np.where(np.isfinite(guess), guess, 0.0)  # the bits of NaN depend on the machine


def _bits(array: Floats) -> NDArray[np.int64]:
    return array.view(np.int64)


def _shuffled(difference: NDArray[np.int64]) -> bytes:
    """Map small differences of either sign to small numbers (zigzag) and sort their bytes by place, to pack well."""
    zigzag = (difference << 1) ^ (difference >> 63)
    return zigzag.astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()


def _unshuffled(content: bytes, n_groups: int) -> NDArray[np.int64]:
    by_byte = np.frombuffer(content, np.uint8).reshape(8, n_groups)
    zigzag = np.ascontiguousarray(by_byte.T).view("<u8").reshape(n_groups).astype(np.uint64)
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)


def _noisy(release: Mapping[str, Any], arrays: Mapping[str, Floats]) -> NoisyAnswer:
    if release["covers"] not in get_args(Covers) or release["noise"] not in get_args(NoiseKind):
        raise ValueError("the cached answer has an unknown kind of noise or interval")
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
        exceeding=Exceeding(**release["exceeding"]) if "exceeding" in release else None,
    )


def _tagged(value: object) -> object:
    """Return a key for JSON; a date, time or decimal as a pair of kind and text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, datetime):  # before date, its base class
        return ["datetime", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    return ["decimal", str(value)] if isinstance(value, Decimal) else str(value)


def _untagged(value: object) -> object:
    if not isinstance(value, list):
        return value
    kind, text = value
    return _KINDS[kind](text)
