"""Texts of arrays of one dimension, `{a,"b c",NULL}`, as PostgreSQL reads them."""

from __future__ import annotations

import re

BOUND_ARRAY = "bound_array"
"""The key of a placeholder's meta that says that its value is an array: the IN list around it has its elements."""

_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*|((?:[^"\\{},]|\\.)+))(,|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def array_elements(text: str) -> tuple[str | None, ...] | None:
    r"""The elements of an array of one dimension, None for NULL; None for any other text.

    Cost: linear.

    >>> array_elements('{CA, "a \\"b\\", c",NULL,"NULL"}'), array_elements("{}"), array_elements("{{1},{2}}")
    (('CA', 'a "b", c', None, 'NULL'), (), None)
    """
    stripped = text.strip()
    if not (len(stripped) >= 2 and stripped[0] == "{" and stripped[-1] == "}"):
        return None
    inside, place = stripped[1:-1], 0
    elements: list[str | None] = []
    if not inside.strip():
        return ()
    while True:
        found = _ELEMENT.match(inside, place)
        if found is None:
            return None
        quoted, plain, separator = found.groups()
        if quoted is not None:
            elements.append(_ESCAPED.sub(r"\1", quoted))
        else:
            word = plain.strip()
            if not word:
                return None
            elements.append(None if word.upper() == "NULL" else _ESCAPED.sub(r"\1", word))
        if not separator:
            return tuple(elements)
        place = found.end()
