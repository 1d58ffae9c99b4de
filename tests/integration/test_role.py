"""The proxy refuses a database role that may do more than SELECT."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from server.backends.role import refuse_unsafe_role
from server.errors import UnsafeRole

_ROLE = "careful"


@pytest.fixture
def role_url(scratch_url: str) -> Iterator[str]:
    """A database with one table and a role that may read it."""
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE t (x int)")
        owner.execute(f"CREATE ROLE {_ROLE} LOGIN".encode())
        owner.execute(f"GRANT SELECT ON t TO {_ROLE}".encode())
        yield scratch_url.replace("noisegate_owner@", f"{_ROLE}@")
        owner.execute("REASSIGN OWNED BY careful TO noisegate_owner")
        owner.execute("DROP OWNED BY careful")
        owner.execute("DROP ROLE careful")


def test_a_role_that_only_selects_is_safe(role_url: str) -> None:
    with psycopg.connect(role_url) as connection:
        refuse_unsafe_role(connection)


@pytest.mark.parametrize(
    ("grant", "finding"),
    [
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
    ],
)
def test_anything_more_is_refused_by_name(role_url: str, scratch_url: str, grant: str, finding: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        owner.execute(grant.encode())
    with psycopg.connect(role_url) as connection, pytest.raises(UnsafeRole) as caught:
        refuse_unsafe_role(connection)
    assert finding in caught.value.message


@pytest.mark.parametrize(
    ("grant", "hint"),
    [
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "REVOKE CREATE ON schema public FROM PUBLIC, and from the role"),
        ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "REVOKE SELECT ON public.t FROM the role"),
        ("ALTER ROLE careful CREATEDB", "CREATE ROLE noisegate LOGIN PASSWORD '...'; GRANT USAGE ON SCHEMA public"),
    ],
)
def test_what_to_do_follows_from_what_is_wrong(role_url: str, scratch_url: str, grant: str, hint: str) -> None:
    """Before PostgreSQL 15 everybody may create in public: another role would not help there."""
    with psycopg.connect(scratch_url) as owner:
        owner.execute(grant.encode())
    with psycopg.connect(role_url) as connection, pytest.raises(UnsafeRole) as caught:
        refuse_unsafe_role(connection)
    assert caught.value.hint is not None and caught.value.hint.startswith(hint)


def test_of_many_tables_the_first_are_named(role_url: str, scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        for number in range(5):
            owner.execute(f"CREATE TABLE many_{number} (x int)".encode())
        owner.execute("GRANT INSERT ON ALL TABLES IN SCHEMA public TO careful")
    with psycopg.connect(role_url) as connection, pytest.raises(UnsafeRole) as caught:
        refuse_unsafe_role(connection)
    assert "it may write public.many_0, public.many_1, public.many_2 and 3 more" in caught.value.message
