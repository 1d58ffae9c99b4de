"""The `options` of a startup message: settings as on PostgreSQL's command line, for example from PGOPTIONS."""

from __future__ import annotations

import re
from collections.abc import Iterator

from server.errors import WireError

_WORD = re.compile(r"(?:\\.|[^\\\s])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SETTING = re.compile(r"(?:-c|--)(?P<name>[A-Za-z_][A-Za-z0-9_.\-]*)=(?P<value>.*)", re.DOTALL)


def settings_of(options: str) -> Iterator[tuple[str, str]]:
    r"""Names and values; a setting that were left out silently could be an epsilon that was asked for.

    Raises: WireError for anything but settings.

    >>> list(settings_of(r"-c noisegate.epsilon=0.5 --application-name=a\ b -cdatestyle=iso"))
    [('noisegate.epsilon', '0.5'), ('application_name', 'a b'), ('datestyle', 'iso')]
    """
    words = iter([_ESCAPED.sub(r"\1", word) for word in _WORD.findall(options)])
    for word in words:
        written = word + next(words, "") if word == "-c" else word
        found = _SETTING.fullmatch(written)
        if found is None:
            raise WireError("the options of the connection are not settings", "42601", hint="write -c name=value")
        yield found["name"].replace("-", "_"), found["value"]
