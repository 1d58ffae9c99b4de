"""Where the catalog's database is: an embedded PostgreSQL, or one that the custodian names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import structlog

from planner.policy.policy import Policy
from planner.schema import Schema
from server.backends import embedded
from server.errors import ConfigurationInvalid, ServerError
from server.pgwire.shadow.create import create_shadow
from server.pgwire.shadow.shadow import ShadowDatabase

_log = structlog.get_logger("noisegate.pgwire")
_SESSION_BYTES = 128 << 20
"""What a session of the catalog may hold in memory: clients can make large texts of nothing."""


@contextmanager
def open_shadow(
    folder: Path, schema: Schema, policy: Policy, url: str | None, announce: Callable[[str], None]
) -> Iterator[ShadowDatabase | None]:
    """Set up the shadow database anew, and stop what was started for it.

    Args:
      folder: where an embedded server keeps its files.
      schema, policy: of the data set.
      url: a superuser of an empty PostgreSQL; None starts an embedded one. What its sessions hold in memory is
        limited by whoever runs it; of an embedded one's it is limited here.
      announce: is told that there is something to wait for, what is changed outside of `folder`, and why there is no
        catalog, where there is none.
    Yields: None where no embedded PostgreSQL is installed: clients are answered, but cannot look at tables.
    Raises: ConfigurationInvalid when the server named cannot be used.
    """
    if url is not None:
        with closing(ShadowDatabase(partial(create_shadow, url), schema, policy)) as shadow:
            yield shadow
        return
    if not folder.exists():
        announce(f"For psql and drivers a catalog without rows is made, once, in {folder}.")
    try:
        server = embedded.start(folder, announce=announce, session_bytes=_SESSION_BYTES)
    except ConfigurationInvalid as error:
        announce(f"clients of the wire protocol cannot look at tables: {error.message}; {error.hint or ''}")
        yield None
        return
    try:
        with closing(ShadowDatabase(partial(create_shadow, server.url()), schema, policy)) as shadow:
            yield shadow
    finally:
        server.stop()


def renew_shadow(shadow: ShadowDatabase, schema: Schema, policy: Policy) -> None:
    """Make the catalog anew after a reload; one that cannot be made is no reason to go back to the policy before."""
    try:
        shadow.renew(schema, policy)
    except ServerError as error:
        _log.error("no catalog until the next reload", kind=type(error).__name__, message=error.message)
