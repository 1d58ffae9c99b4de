"""Connections by libpq, as their URLs say: the environment of the process changes nothing of what they mean.

libpq takes whatever a URL leaves out from variables such as PGPORT, PGOPTIONS or PGSSLMODE, and some, such as PGTZ
and PGDATESTYLE, it sends after every option, so that no URL can overrule them: the same question would mean something
else. The one rule here: of all variables `PG...` only those count that hold a secret or say where files of secrets,
certificates and services lie (`KEPT`). The others are removed from the process before it connects.
"""

from __future__ import annotations

import os
import re
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

KEPT = frozenset(
    {
        "PGPASSFILE",
        "PGPASSWORD",
        "PGSERVICEFILE",
        "PGSSLCERT",
        "PGSSLCRL",
        "PGSSLCRLDIR",
        "PGSSLKEY",
        "PGSSLROOTCERT",
        "PGSYSCONFDIR",
    }
)
"""The variables of libpq that count: secrets, so that no URL need hold them, and where files lie."""

_LIBPQ = re.compile("PG[A-Z_]+")
_removing = Lock()


def forget_environment() -> tuple[str, ...]:
    """Remove from the environment what libpq would read there beside a URL.

    Returns: the names of what was removed, sorted; empty from the second call on.
    """
    with _removing:
        names = sorted(name for name in os.environ if _LIBPQ.fullmatch(name) and name not in KEPT)
        for name in names:
            del os.environ[name]  # of the process itself, too, where libpq reads it
    return tuple(names)


def connect(url: str, **parameters: Any) -> psycopg.Connection[Any]:
    """`psycopg.connect`, by the URL and the parameters alone; nothing else in this package may connect.

    Raises: psycopg.Error, as `psycopg.connect` does.
    """
    import psycopg  # here, since commands that only speak HTTP need no libpq

    forget_environment()
    return psycopg.connect(url, **parameters)  # noqa: TID251
