"""What parameters out of range are answered with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from privacy.errors import InvalidParameter


def refuses(make: Callable[..., object], usual: Mapping[str, Any] = {}, **wrong: Sequence[Any]) -> None:
    """Each of these values beside the usual ones of the other parameters is an InvalidParameter."""
    for name, values in wrong.items():
        for value in values:
            refuses_each(lambda one: make(**one), [{**usual, name: value}])


def refuses_each(take: Callable[[Any], object], wrong: Sequence[Any]) -> None:
    """Each of these arguments is an InvalidParameter."""
    for one in wrong:
        try:
            take(one)
        except InvalidParameter:
            continue
        raise AssertionError(f"{one!r} was taken")


def refuses_calls(take: Callable[..., object], *wrong: tuple[Any, ...]) -> None:
    """Each of these tuples of arguments is an InvalidParameter."""
    refuses_each(lambda arguments: take(*arguments), wrong)
