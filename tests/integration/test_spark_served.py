"""A folder of Parquet files behind a running proxy that reads it by Spark: drafted, checked, asked and changed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import httpx
import pytest

from tests.integration.test_data_files import PATIENTS, POLICY, VISITS
from tests.integration.test_served_files import _noisegate, _served
from tests.support.spark import needs_spark

pytestmark = needs_spark

_WAIT_S = 240.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "lake" / "visit").mkdir(parents=True)
    duckdb.execute(f"COPY ({PATIENTS}) TO '{tmp_path}/lake/patient.parquet'")
    duckdb.execute(f"COPY ({VISITS.format(0, 3000)}) TO '{tmp_path}/lake/visit/0.parquet'")
    policy = POLICY.replace('url = "parquet:///lake"', 'url = "spark+local:///lake"\nmemory_mb = 1024\nseconds = 240')
    (tmp_path / "policy.toml").write_text(policy)
    yield tmp_path


def _asked(address: str, key: str, sql: str) -> httpx.Response:
    body, headers = {"sql": sql, "epsilon": 4.0}, {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{address}/v1/query", json=body, headers=headers, timeout=_WAIT_S)


def _sparks() -> str:
    """The Java processes that run a Spark of a proxy's."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def test_from_the_draft_to_an_answer_and_a_changed_file(folder: Path) -> None:
    drafted = _noisegate("policy", "init", "--url", "spark+local:///lake", "--output", "draft.toml", cwd=folder)
    assert drafted.returncode == 0, drafted.stderr
    assert "[tables.visit.columns]" in (folder / "draft.toml").read_text()
    added = _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "60", cwd=folder)
    assert added.returncode == 0, added.stderr
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 0 and "held once" in checked.stderr, checked.stdout + checked.stderr
    key = added.stdout.strip()
    with _served(folder) as (address, _):
        answer = _asked(address, key, "SELECT count(*), sum(cost) FROM visit")
        assert answer.status_code == 200, answer.text
        assert abs(answer.json()["rows"][0][0] - 3000) < 300
        towns = _asked(
            address, key, "SELECT town, count(*) FROM visit JOIN patient ON patient_id = patient.id GROUP BY town"
        )
        assert towns.status_code == 200, towns.text
        assert [row[0] for row in towns.json()["rows"]] == ["town 0", "town 1"]
        refused = _asked(
            address, key, "SELECT count(*) FROM visit JOIN patient ON patient_id = id WHERE lower(town) = 'a'"
        )
        assert refused.status_code == 400 and "lower is not supported on Spark" in refused.text
        around = _asked(
            address, key, "SELECT upper(town) FROM (SELECT town, count(*) AS n FROM patient GROUP BY town) q"
        )
        assert around.status_code == 400 and "computes nothing around answers" in around.text
        duckdb.execute(f"COPY ({VISITS.format(0, 600)}) TO '{folder}/lake/visit/1.parquet'")
        changed = _asked(address, key, "SELECT avg(cost) FROM visit")
        assert changed.status_code == 503 and "have changed" in changed.text
    assert str(folder) not in _sparks()


def test_a_key_that_is_declared_and_false_is_found(folder: Path) -> None:
    duckdb.execute(
        f"COPY (SELECT i // 2 AS id, 'town 0' AS town FROM range(600) t(i)) TO '{folder}/lake/patient.parquet'"
    )
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 1 and "share a key" in checked.stdout, checked.stdout + checked.stderr
