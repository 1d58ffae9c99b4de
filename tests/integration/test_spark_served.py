"""A folder of Parquet files behind a running proxy that reads it by Spark: drafted, checked, asked and changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import duckdb
import httpx
import pytest

from tests.integration.test_data_files import PATIENTS, POLICY, VISITS
from tests.integration.test_served_files import _noisegate, _served
from tests.support.spark import address, needs_spark

pytestmark = needs_spark

_WAIT_S = 240.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy over files, by the Spark Connect of these tests."""
    (tmp_path / "lake" / "visit").mkdir(parents=True)
    duckdb.execute(f"COPY ({PATIENTS}) TO '{tmp_path}/lake/patient.parquet'")
    duckdb.execute(f"COPY ({VISITS.format(0, 3000)}) TO '{tmp_path}/lake/visit/0.parquet'")
    monkeypatch.setenv("NOISEGATE_LAKE", f"{address()};folder={tmp_path}/lake")
    policy = POLICY.replace('url = "parquet:///lake"', 'url = "env:NOISEGATE_LAKE"\nseconds = 240')
    (tmp_path / "policy.toml").write_text(policy)
    return tmp_path


def _asked(address: str, key: str, sql: str) -> httpx.Response:
    body, headers = {"sql": sql, "epsilon": 4.0}, {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{address}/v1/query", json=body, headers=headers, timeout=_WAIT_S)


def _processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_a_local_spark_reads_a_folder_and_ends_with_who_started_it(folder: Path) -> None:
    before = _processes().count("SparkConnectServer")
    drafted = _noisegate("policy", "init", "--url", "spark+local:///lake", "--output", "draft.toml", cwd=folder)
    assert drafted.returncode == 0, drafted.stderr
    text = (folder / "draft.toml").read_text()
    assert 'url = "spark+local:///lake"' in text and "[tables.visit.columns]" in text
    assert _processes().count("SparkConnectServer") <= before


def test_from_the_check_to_answers_and_a_changed_file(folder: Path) -> None:
    added = _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "60", cwd=folder)
    assert added.returncode == 0, added.stderr
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 0 and "are unique" in checked.stderr, checked.stdout + checked.stderr
    key = added.stdout.strip()
    with _served(folder) as (proxy, _):
        answer = _asked(proxy, key, "SELECT count(*), sum(cost) FROM visit")
        assert answer.status_code == 200, answer.text
        assert abs(answer.json()["rows"][0][0] - 3000) < 300
        towns = _asked(
            proxy, key, "SELECT town, count(*) FROM visit JOIN patient ON patient_id = patient.id GROUP BY town"
        )
        assert towns.status_code == 200, towns.text
        assert [row[0] for row in towns.json()["rows"]] == ["town 0", "town 1"]
        public = _asked(proxy, key, "SELECT 6 * 7 AS answer WHERE 'a' IN (SELECT 'a' UNION SELECT 'b')")
        assert public.status_code == 200 and public.json()["rows"][0][0] == 42, public.text
        refused = _asked(
            proxy, key, "SELECT count(*) FROM visit JOIN patient ON patient_id = id WHERE lower(town) = 'a'"
        )
        assert refused.status_code == 422 and "lower is not supported on Spark" in refused.text
        around = _asked(
            proxy, key, "SELECT upper(town) FROM (SELECT town, count(*) AS n FROM patient GROUP BY town) q"
        )
        assert around.status_code == 422, around.text
        duckdb.execute(f"COPY ({VISITS.format(0, 600)}) TO '{folder}/lake/visit/1.parquet'")
        changed = _asked(proxy, key, "SELECT avg(cost) FROM visit")
        assert changed.status_code == 503 and "have changed" in changed.text


def test_a_key_that_is_declared_and_false_is_found(folder: Path) -> None:
    duckdb.execute(
        f"COPY (SELECT i // 2 AS id, 'town 0' AS town FROM range(600) t(i)) TO '{folder}/lake/patient.parquet'"
    )
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 1 and "share a key" in checked.stdout, checked.stdout + checked.stderr
