from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from privacy import warm_up
from privacy.truncation.programs.max_flow import augment
from server.backends.columns import Integers, from_array
from server.backends.duckdb import _column as duckdb_column
from server.backends.spark import arrow_columns
from server.workers import kernel_compiler
from tests.support.seeds import ALL

COMPILE_ONE = """
import numpy as np
from numba.core import event
from privacy.truncation.level_index import add_contributions

class Count(event.Listener):
    compiled = 0
    def on_start(self, happening): Count.compiled += 1
    def on_end(self, happening): pass

event.register("numba:compile", Count())
assert list(add_contributions(np.zeros((1, 3), np.int32), np.ones(3, np.int64), 2)) == [3, 0]
print(Count.compiled)
"""


def compiled_in(folder: Path, root: Path) -> int:
    """How many kernels a fresh process compiles for one call."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE_ONE], env=environment, cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_another_checkout_compiles_nothing_again(tmp_path: Path) -> None:
    """By the hash of what is compiled: neither paths nor times of modification count."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    subprocess.run(["cp", "-r", "privacy", str(other)], check=True)  # with other times than the checkout's
    first = compiled_in(tmp_path / "kernels", Path.cwd())
    assert first >= 1
    assert compiled_in(tmp_path / "kernels", other) == 0
    if not ALL:
        return
    source = other / "privacy" / "truncation" / "level_index.py"
    text = source.read_text()
    source.write_text(text.replace("import numpy as np", "# a comment, so that all lines move\nimport numpy as np"))
    assert compiled_in(tmp_path / "kernels", other) == 0
    source.write_text(text.replace("MAX_UNITS - ", "MAX_UNITS - 1 - "))
    assert compiled_in(tmp_path / "kernels", other) == first


@pytest.mark.slow
def test_two_processes_compile_a_kernel_once_between_them(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILE_ONE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    counts = [int(process.communicate(timeout=120)[0]) for process in both]
    assert sum(counts) == max(counts) > 0


@pytest.mark.slow
def test_compiles_once_and_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    said: list[str] = []
    kernel_compiler.compile_kernels(said.append, parts=(partial(warm_up.run_part, 3),))
    assert said[-1] == "compiled 1 of 1"
    assert list(tmp_path.glob("*.nbc"))
    kernel_compiler.compile_kernels(lambda line: pytest.fail(f"compiles again: {line}"))


def test_what_is_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_compiler, "_source_hash", lambda: "one")
    said: list[str] = []
    kernel_compiler.compile_kernels(said.append, parts=())
    assert [line.split(",")[0] for line in said] == ["compiling numerical kernels for this machine"]
    kernel_compiler.compile_kernels(lambda line: pytest.fail(f"compiles again: {line}"))
    monkeypatch.setattr(kernel_compiler, "_source_hash", lambda: "another")
    kernel_compiler.compile_kernels(said.append, parts=())
    assert len(said) == 2


def test_no_folder_to_write_to_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "folder"))
    kernel_compiler.compile_kernels(lambda line: pytest.fail(f"compiles in vain: {line}"))


@pytest.mark.parametrize("texts", [("1", "2", "3"), ("1", "NULL", "3"), ("3",), ()])
def test_columns_of_every_engine_are_arrays_for_which_kernels_are_compiled(texts: tuple[str, ...]) -> None:
    numbers = [None if text == "NULL" else int(text) for text in texts]
    rows = ", ".join(f"({text})" for text in texts) or "(0)"
    sql = f"SELECT a::bigint AS a FROM (VALUES {rows}) AS t(a) LIMIT {len(texts)}"
    found = duckdb.connect().execute(sql).fetchnumpy()
    column = pa.table({"a": pa.array(numbers, pa.int64())})
    for table in ([column], [column, column]):
        assert _is_plain(arrow_columns(table, 1)[0])
    assert _is_plain(duckdb_column(found["a"]))
    assert _is_plain(from_array(None))


def _is_plain(column: object) -> bool:
    assert isinstance(column, Integers)
    return all(one.flags.writeable and one.flags.c_contiguous for one in (column.values, column.missing))


def test_what_warms_up_solves_programs_that_need_a_flow() -> None:
    warm_up.warm_up()
    assert augment.compiled.signatures
