"""Texts of arrays of one dimension, `{a,"b c",NULL}`, as PostgreSQL reads them."""

from __future__ import annotations

import re

BOUND_ARRAY = "bound_array"
"""The key of a placeholder's meta that says that its value is an array: the IN list around it has its elements."""

_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*|((?:[^"\\{},]|\\.)+))(,|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def array_elements(text: str, most: int) -> tuple[str | None, ...] | None:
    r"""The elements of an array of one dimension, None for NULL; None for any other text.

    Args:
      text: of the array.
      most: of more elements than that, only one more is read: the text is a client's, and may have a million.
    Cost: linear in what is read.

    >>> array_elements('{CA, "a \\"b\\", c",NULL,"NULL"}', 9), array_elements("{}", 9), array_elements("{{1},{2}}", 9)
    (('CA', 'a "b", c', None, 'NULL'), (), None)
    >>> array_elements("{1,2,3,4}", 2)
    ('1', '2', '3')
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
        if not separator or len(elements) > most:
            return tuple(elements)
        place = found.end()
