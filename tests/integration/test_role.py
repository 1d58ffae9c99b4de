"""The proxy refuses a database role that may do more than SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from server.backends.postgres_custody import PostgresCustody
from server.errors import UnsafeRole

_ROLE = "careful"


@pytest.fixture
def role(scratch_url: str) -> Iterator[None]:
    """A database with one table and a role that may read it."""
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE t (x int)")
        owner.execute(f"CREATE ROLE {_ROLE} LOGIN".encode())
        owner.execute(f"GRANT SELECT ON t TO {_ROLE}".encode())
        yield
        owner.execute("REASSIGN OWNED BY careful TO noisegate_owner")
        owner.execute("DROP OWNED BY careful")
        owner.execute("DROP ROLE careful")


def _refusal(owner: psycopg.Connection[Any], *grants: str) -> UnsafeRole | None:
    """What the role is told after these grants, which are taken back: all of them but those of rights of its own."""
    for grant in grants:
        owner.execute(grant.encode())
    owner.execute(f"SET LOCAL SESSION AUTHORIZATION {_ROLE}".encode())
    try:
        PostgresCustody(owner).refuse_unsafe_role()
    except UnsafeRole as refused:
        return refused
    finally:
        owner.rollback()
    return None


@pytest.mark.usefixtures("role")
def test_anything_more_than_select_is_refused_by_name(scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        assert _refusal(owner) is None
        for grant, finding in (
            ("ALTER ROLE careful SUPERUSER", "SUPERUSER"),
            ("ALTER ROLE careful BYPASSRLS", "BYPASSRLS"),
            ("ALTER ROLE careful CREATEROLE", "CREATEROLE"),
            ("GRANT INSERT ON t TO careful", "may write public.t"),
            ("GRANT UPDATE (x) ON t TO careful", "may write public.t"),
            ("GRANT TRUNCATE ON t TO careful", "may write public.t"),
            ("ALTER TABLE t OWNER TO careful", "owns public.t"),
            ("GRANT CREATE ON SCHEMA public TO careful", "CREATE in schema public"),
            ("GRANT pg_write_all_data TO careful", "pg_write_all_data"),
            ("GRANT pg_read_server_files TO careful", "pg_read_server_files"),
            ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "row-level security"),
        ):
            refused = _refusal(owner, grant)
            assert refused is not None and finding in refused.message, grant


@pytest.mark.usefixtures("role")
def test_what_to_do_follows_from_what_is_wrong(scratch_url: str) -> None:
    """Before PostgreSQL 15 everybody may create in public: another role would not help there."""
    with psycopg.connect(scratch_url) as owner:
        for grant, hint in (
            (
                "GRANT CREATE ON SCHEMA public TO PUBLIC",
                "REVOKE CREATE ON schema public FROM PUBLIC, and from the role",
            ),
            ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "REVOKE SELECT ON public.t FROM the role"),
            (
                "ALTER ROLE careful CREATEDB",
                "CREATE ROLE noisegate LOGIN PASSWORD '...'; GRANT USAGE ON SCHEMA public",
            ),
        ):
            refused = _refusal(owner, grant)
            assert refused is not None and refused.hint is not None and refused.hint.startswith(hint), grant


@pytest.mark.usefixtures("role")
def test_of_many_tables_the_first_are_named(scratch_url: str) -> None:
    more = [f"CREATE TABLE many_{number} (x int)" for number in range(5)]
    with psycopg.connect(scratch_url) as owner:
        refused = _refusal(owner, *more, "GRANT INSERT ON ALL TABLES IN SCHEMA public TO careful")
    assert refused is not None
    assert "it may write public.many_0, public.many_1, public.many_2 and 3 more" in refused.message
