"""Connections by libpq that depend on their URL alone, not on the environment.

libpq fills gaps of a URL from variables such as PGPORT, PGOPTIONS or PGSSLMODE. It sends some, such as PGTZ, after
every option, so that no URL can override them: the same question would mean something else. So all variables `PG...`
are removed from the process before it connects, except those that hold secrets or locate files (`KEPT`).
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
"""The variables that stay: secrets, so that no URL must contain them, and locations of files."""

_LIBPQ = re.compile("PG[A-Z_]+")
_removing = Lock()


def forget_environment() -> tuple[str, ...]:
    """Remove the variables from which libpq would fill gaps of a URL.

    Returns: the removed names, sorted; empty from the second call on.
    """
    with _removing:
        names = sorted(name for name in os.environ if _LIBPQ.fullmatch(name) and name not in KEPT)
        for name in names:
            del os.environ[name]  # of the process itself, too, where libpq reads it
    return tuple(names)


def connect(url: str, **parameters: Any) -> psycopg.Connection[Any]:
    """As `psycopg.connect`, without the environment. Nothing else in this package may connect.

    Raises: psycopg.Error, as `psycopg.connect` does.
    """
    import psycopg  # here, since commands that only speak HTTP need no libpq

    forget_environment()
    return psycopg.connect(url, **parameters)  # noqa: TID251
