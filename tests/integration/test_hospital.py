"""The generated hospital is what it says: its schemas, its dirt, and the same rows for the same seed."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.support.hospital import SCHEMAS, write_hospital


def number(connection: psycopg.Connection[Any], statement: str) -> int:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("schemas", [True, False])
def test_a_hospital_is_written_with_the_dirt_that_it_says(scratch_url: str, schemas: bool) -> None:
    with psycopg.connect(scratch_url) as connection:
        written = write_hospital(connection, 200, schemas=schemas)
        clinic = "clinic" if schemas else "public"
        found = {
            name
            for (name,) in connection.execute(
                "SELECT DISTINCT nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE c.relkind IN ('r', 'p', 'v', 'm') AND nspname !~ '^(pg_|information_schema)'"
            )
        }
        assert found == (set(SCHEMAS) if schemas else {"public"})
        assert number(connection, f"SELECT count(*) FROM {clinic}.visit") == written.rows["visit"] == 1000
        for table in ("visit", "lab_result"):
            nobody = number(connection, f"SELECT count(*) FROM {clinic}.{table} WHERE patient_id IS NULL")
            assert 0 < nobody == written.null_owners[table] < written.rows[table] * 0.03
        orphans = number(
            connection,
            f"SELECT count(*) FROM {clinic}.lab_result r LEFT JOIN {clinic}.patient p ON p.id = r.patient_id "
            "WHERE r.patient_id IS NOT NULL AND p.id IS NULL",
        )
        assert orphans == written.orphans["lab_result"] == written.rows["lab_result"] // 100
        partitions = number(
            connection, f"SELECT count(*) FROM pg_inherits WHERE inhparent = '{clinic}.visit'::regclass"
        )
        assert partitions == 5


def test_the_rows_follow_from_the_seed(scratch_url: str) -> None:
    """Within one database: written, dropped, written again."""
    digest = "SELECT hashtext(string_agg(p::text, ',' ORDER BY id)) FROM clinic.patient p"
    seen = []
    with psycopg.connect(scratch_url) as connection:
        for seed in (1, 1, 2):
            write_hospital(connection, 50, seed=seed)
            seen.append(number(connection, digest))
            connection.execute("DROP SCHEMA clinic CASCADE; DROP SCHEMA ref CASCADE; DROP TABLE schema_migrations")
    assert seen[0] == seen[1] != seen[2]
