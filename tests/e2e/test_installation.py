"""From the wheel alone: a fresh environment in a folder that is no checkout, to the demonstration's first answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.demo.demonstration import QUERIES
from tests.benchmarks.install import MOST_MB
from tests.release.distribution import build
from tests.release.installation import Installation, environment

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("installation")]

MOST_AS_INSTALLED_MB = 800.0
"""Half of it is opendp and numba's compiler, as their publishers build them; stripped, all is within MOST_MB."""

IMPORTED = "import {0}; print({0}.__file__)"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder outside of the checkout."""
    folder = tmp_path_factory.mktemp("elsewhere")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def wheel(elsewhere: Path) -> Path:
    return build(elsewhere / "dist")[1]


@pytest.fixture(scope="module")
def installation(elsewhere: Path, wheel: Path) -> Installation:
    return Installation.of(wheel, elsewhere / "environment")


def test_the_program_is_the_installed_one(installation: Installation, elsewhere: Path) -> None:
    assert re.fullmatch(r"noisegate \d+\.\d+\.\d+\n", installation.run("--version", folder=elsewhere).stdout)
    for package in ("server", "planner", "privacy"):
        assert str(installation.folder) in installation.python(IMPORTED.format(package), elsewhere)


@pytest.mark.parametrize(
    ("tool", "folder", "programs"), [("uv", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR"), ("pipx", "PIPX_HOME", "PIPX_BIN_DIR")]
)
def test_tools_that_give_it_an_environment_of_its_own_install_it(
    tool: str, folder: str, programs: str, wheel: Path, elsewhere: Path
) -> None:
    """As the documentation asks for, since the packages' names, `server` and the like, are others' as well."""
    python = elsewhere / tool / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(elsewhere / tool)], check=True, env=environment())
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", tool], check=True, env=with_index())
    place = {folder: str(elsewhere / f"{tool} tools"), programs: str(elsewhere / f"{tool} programs")}
    command = [str(python), "-m", tool, *(["tool"] if tool == "uv" else []), "install", "--python", sys.executable]
    subprocess.run([*command, str(wheel)], check=True, env=with_index() | place, capture_output=True, text=True)
    program = elsewhere / f"{tool} programs" / "noisegate"
    done = subprocess.run([program, "--version"], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("noisegate ")


def with_index() -> dict[str, str]:
    """The environment of a new user, and where packages come from: uv does not read what pip is told."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    place = environment() | {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    index = place.get("UV_DEFAULT_INDEX") or place.get("PIP_INDEX_URL") or told
    return place | ({"UV_DEFAULT_INDEX": index} if index else {})


def test_what_is_not_installed_is_named(installation: Installation, elsewhere: Path) -> None:
    """Without extras: the demonstration, files of DuckDB and Spark each say what to install."""
    assert "noisegate[embedded]" in installation.run("demo", "--exit", folder=elsewhere, code=2).stderr
    for url, extra in (("duckdb:///shop.duckdb", "duckdb"), ("spark+local:///lake", "spark")):
        (elsewhere / "lake").mkdir(exist_ok=True)
        done = installation.run("policy", "init", "--url", url, folder=elsewhere, code=2)
        assert f"noisegate[{extra}]" in done.stderr, done.stderr


def test_the_slim_installation_is_slim(installation: Installation) -> None:
    assert sum(installation.sizes().values()) / 1e6 <= MOST_AS_INSTALLED_MB
    if shutil.which("strip") is None:
        pytest.skip("needs strip, of binutils")
    installation.strip()
    assert sum(installation.sizes().values()) / 1e6 <= MOST_MB


def test_the_demonstration_runs_from_the_wheel(installation: Installation, wheel: Path, elsewhere: Path) -> None:
    """After the libraries were stripped: what the test before leaves answers as well."""
    installation.install(wheel, "embedded")
    output = installation.run("demo", "--exit", folder=elsewhere).stdout
    for query in QUERIES:
        assert re.search(rf"│ {re.escape(query.name)}\b.*│\s*([0-9.]+)%.*│\s*[0-9.]+ s │", output), query.name
    assert (elsewhere / ".noisegate" / "demo" / "policy.toml").is_file()
