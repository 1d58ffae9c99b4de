"""The search path of a session: where tables without a schema are looked for, in PostgreSQL's spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner.errors import InvalidSetting
from planner.schema import PUBLIC, sql_identifier

OWN_SCHEMA = "$user"
"""The schema that is called as the role is; here nobody has one."""

_IDENTIFIER = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s",]+))\s*')


def default_path(schemas: Sequence[str]) -> str:
    """The setting of a session that sets none.

    >>> default_path(["public"]), default_path(["clinic", "ref"])
    ('"$user", public', 'clinic, ref')
    """
    return spelled(((OWN_SCHEMA,) if tuple(schemas) == (PUBLIC,) else ()) + tuple(schemas))


def spelled(names: Sequence[str]) -> str:
    """Names as the value of the setting, in quotes where they are needed.

    >>> spelled(["clinic", "Ref", ""])
    'clinic, "Ref", ""'
    """
    return ", ".join(map(sql_identifier, names))


def read_path(value: str) -> tuple[str, ...]:
    """The schemas that a value names, folded as PostgreSQL folds identifiers; those that nobody has are kept.

    Raises: InvalidSetting for what is no list of identifiers.

    >>> read_path('"$user", Clinic,"Ref"'), read_path("")
    (('$user', 'clinic', 'Ref'), ())
    """
    names: list[str] = []
    place = 0
    while value.strip():
        found = _IDENTIFIER.match(value, place)
        if found is None:
            break
        quoted = found["quoted"]
        names.append(_folded(found["plain"]) if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if place == len(value):
            return tuple(names)
        if value[place] != ",":
            break
        place += 1
    if value.strip():
        raise InvalidSetting("search_path is a list of schemas", hint="SET search_path TO clinic, public")
    return ()


def _folded(name: str) -> str:
    """ASCII letters in lower case, and no others."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
