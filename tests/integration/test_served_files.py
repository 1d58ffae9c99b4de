"""A folder of Parquet files behind a running proxy: from the first question to a changed file and back."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import httpx
import pytest

from server.backends.duckdb import DuckdbBackend
from server.errors import PolicyRejected
from server.ledger.analyst import Act
from server.startup.open_services import open_services
from server.workers.pool import WorkerLimits
from tests.integration.test_data_files import PATIENTS, POLICY, VISITS

_LISTENS = re.compile(r"http://[\d.]+:\d+")


def _noisegate(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "server.cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, env=_environment(), capture_output=True, text=True, check=False)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path.cwd().resolve())}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lake" / "visit").mkdir(parents=True)
    duckdb.execute(f"COPY ({PATIENTS}) TO '{tmp_path}/lake/patient.parquet'")
    duckdb.execute(f"COPY ({VISITS.format(0, 3000)}) TO '{tmp_path}/lake/visit/0.parquet'")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "server.cli.main", "serve", "policy.toml", "--port", "0", "--no-wire"]
    with subprocess.Popen(command, cwd=folder, env=_environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            while (found := _LISTENS.search(said)) is None:
                line = process.stderr.readline()
                assert line, f"the proxy ended: {said}"
                said += line
            yield found[0], process.pid
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _asked(address: str, key: str, sql: str) -> httpx.Response:
    body, headers = {"sql": sql, "epsilon": 4.0}, {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{address}/v1/query", json=body, headers=headers, timeout=60)


@pytest.mark.slow
def test_questions_are_answered_until_the_files_change_and_again_once_they_are_checked(folder: Path) -> None:
    added = _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "30", cwd=folder)
    assert added.returncode == 0, added.stderr
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 0 and "are unique" in checked.stderr, checked.stderr
    key = added.stdout.strip()
    with _served(folder) as (address, process):
        answer = _asked(address, key, "SELECT count(*), sum(cost) FROM public.visit")
        assert answer.status_code == 200, answer.text
        assert abs(answer.json()["rows"][0][0] - 3000) < 300
        duckdb.execute(f"COPY ({VISITS.format(0, 600)}) TO '{folder}/lake/visit/1.parquet'")
        refused = _asked(address, key, "SELECT avg(cost) FROM visit")
        assert refused.status_code == 503 and "have changed" in refused.text
        bumped = _noisegate("data", "bump", "--policy", "policy.toml", "--reason", "more visits", cwd=folder)
        assert bumped.returncode == 0, bumped.stderr  # else the count follows from the answer about the old files
        os.kill(process, signal.SIGHUP)
        deadline = time.monotonic() + 60
        while (again := _asked(address, key, "SELECT count(*) FROM visit")).status_code == 503:
            assert time.monotonic() < deadline, again.text
            time.sleep(0.2)
        assert again.status_code == 200 and abs(again.json()["rows"][0][0] - 3600) < 300


@pytest.mark.slow
def test_a_key_that_is_declared_and_false_is_found_and_nothing_that_rests_on_it_is_answered(folder: Path) -> None:
    duckdb.execute(
        f"COPY (SELECT i // 2 AS id, 'town 0' AS town FROM range(600) t(i)) TO '{folder}/lake/patient.parquet'"
    )
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 1 and "share a key" in checked.stdout
    added = _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "1", cwd=folder)
    assert added.returncode == 0, added.stderr
    with _served(folder) as (address, _):
        refused = _asked(address, added.stdout.strip(), "SELECT count(*) FROM visit")
        assert refused.status_code == 503 and "rows share it" in refused.text


@pytest.mark.slow
def test_tables_of_named_files_are_served_checked_and_verified(folder: Path) -> None:
    (folder / "lake" / "visit").rename(folder / "lake" / "visits")
    text = POLICY.replace(
        "[tables.visit.columns]", '[tables.visit]\nparquet = "visits/*.parquet"\n[tables.visit.columns]'
    )
    (folder / "policy.toml").write_text(text)
    added = _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "30", cwd=folder)
    assert added.returncode == 0, added.stderr
    checked = _noisegate("policy", "check", "policy.toml", cwd=folder)
    assert checked.returncode == 0 and "are unique" in checked.stderr, checked.stderr
    verified = _noisegate("verify", "SELECT count(*) FROM visit", "--policy", "policy.toml", cwd=folder)
    assert verified.returncode == 0, verified.stderr
    with _served(folder) as (address, _):
        key = added.stdout.strip()
        answer = _asked(address, key, "SELECT count(*) FROM public.visit")
        assert answer.status_code == 200 and abs(answer.json()["rows"][0][0] - 3000) < 300, answer.text
        duckdb.execute(f"COPY ({VISITS.format(0, 600)}) TO '{folder}/lake/visits/1.parquet'")
        refused = _asked(address, key, "SELECT avg(cost) FROM visit")
        assert refused.status_code == 503 and "have changed" in refused.text


@pytest.mark.slow
def test_workers_are_given_time_when_they_start(folder: Path) -> None:
    policy, act = folder / "policy.toml", Act("cy", "by hand")
    assert (
        _noisegate("analyst", "add", "ada", "--policy", "policy.toml", "--epsilon", "1", cwd=folder).returncode == 0
    )
    before = policy.read_text()
    with open_services(policy, WorkerLimits(workers=1, public_workers=1)) as services:
        policy.write_text(before.replace("[database]", "[database]\nseconds = 61"))
        with pytest.raises(PolicyRejected, match="can only be raised with a restart"):
            services.pipeline.reload(act, None)
        policy.write_text(before.replace("[database]", "[database]\nseconds = 5\nmemory_mb = 512"))
        services.pipeline.reload(act, None)
        backend = services.pipeline.current.backend
        assert isinstance(backend, DuckdbBackend)
        assert (backend.limits.statement_ms, backend.limits.memory_mb) == (5_000, 512)
