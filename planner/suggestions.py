"""Names that look like one that is not there. Schema names are public to whoever may ask, so a hint may say them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_NAMES = 2_000
_LONGEST = 63


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """A hint with the likeliest name, or None. Cost: one comparison per name, for a statement that is refused.

    >>> did_you_mean("custmer", ["customer", "orders"]), did_you_mean("Ward", ["ward"]), did_you_mean("x", ["ward"])
    ('did you mean customer?', 'did you mean ward?', None)
    """
    known = nearest(name, names)
    if known is None:
        return None
    plain = known == known.lower() and known.isidentifier() and known.isascii()
    return f"did you mean {known}?" if plain else f'did you mean "{known}"?'


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The likeliest of the names, or None where none looks like it. Cost: one comparison per name.

    >>> nearest("epsilon", ["epsilom", "delta"]), nearest("epsilon", [])
    ('epsilom', None)
    """
    by_lower_case: dict[str, str] = {}
    for known in sorted(names)[:_MOST_NAMES]:
        by_lower_case.setdefault(known.lower(), known)
    found = get_close_matches(name.lower()[:_LONGEST], by_lower_case, n=1)
    return by_lower_case[found[0]] if found else None
