"""Privacy events as JSON of texts and whole numbers: what an entry keeps of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
)
from privacy.errors import InvalidParameter

_KINDS: Mapping[str, type[PrivacyEvent]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, BoundedRange, ZCDP, DiscreteGaussian, RenyiCurve, Composed)
}


def save_event(event: PrivacyEvent) -> dict[str, object]:
    """An event as a JSON object; floats are spelled by repr, which reads back to the same float.

    Raises: InvalidParameter that names an event of another kind.
    """
    kind = type(event).__name__
    if _KINDS.get(kind) is not type(event):
        raise InvalidParameter(f"no ledger keeps a {kind}")
    return {"kind": kind} | {field.name: _saved(getattr(event, field.name)) for field in fields(_KINDS[kind])}  # type: ignore[arg-type]


def load_event(saved: Mapping[str, object]) -> PrivacyEvent:
    """The event that was saved. Raises InvalidParameter for what is none."""
    kind = _KINDS.get(str(saved.get("kind")))
    if kind is None:
        raise InvalidParameter("no event is of this kind")
    values = {name: _loaded(value) for name, value in saved.items() if name != "kind"}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise InvalidParameter("this event was not saved by Noisegate") from error


def _saved(value: object) -> object:
    if isinstance(value, PrivacyEvent):
        return save_event(value)
    if isinstance(value, tuple):
        return [_saved(part) for part in value]
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, int):
        return value
    raise InvalidParameter(f"an event holds no {type(value).__name__}")


def _loaded(value: object) -> object:
    if isinstance(value, Mapping):
        return load_event(value)
    if isinstance(value, list):
        return tuple(_loaded(part) for part in value)
    return float(value) if isinstance(value, str) else value
