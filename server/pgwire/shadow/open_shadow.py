"""Where the catalog's database is: an embedded PostgreSQL, or one that the custodian names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.policy import Policy
from planner.schema import Schema
from server.backends import embedded
from server.errors import ConfigurationInvalid
from server.pgwire.shadow.create import create_shadow
from server.pgwire.shadow.shadow import ShadowDatabase


@contextmanager
def open_shadow(
    folder: Path, schema: Schema, policy: Policy, url: str | None, announce: Callable[[str], None]
) -> Iterator[ShadowDatabase | None]:
    """Set up the shadow database anew, and stop what was started for it.

    Args:
      folder: where an embedded server keeps its files.
      schema, policy: of the data set.
      url: a superuser of an empty PostgreSQL; None starts an embedded one.
      announce: is told what is changed outside of `folder`, and why there is no catalog, where there is none.
    Yields: None where no embedded PostgreSQL is installed: clients are answered, but cannot look at tables.
    Raises: ConfigurationInvalid when the server named cannot be used.
    """
    if url is not None:
        shadow = ShadowDatabase(create_shadow(url, schema, policy))
        try:
            yield shadow
        finally:
            shadow.close()
        return
    try:
        server = embedded.start(folder, announce=announce)
    except ConfigurationInvalid as error:
        announce(f"clients of the wire protocol cannot look at tables: {error.message}; {error.hint or ''}")
        yield None
        return
    try:
        shadow = ShadowDatabase(create_shadow(server.url(), schema, policy))
        try:
            yield shadow
        finally:
            shadow.close()
    finally:
        server.stop()
