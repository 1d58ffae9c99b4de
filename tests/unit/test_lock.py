"""requirements.lock: what is installed is what pyproject.toml asks for, each file known by its hash."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]

NOT_LOCKED = {"spark"}
"""Extras that `make` does not install."""

PLATFORMS = [
    {"sys_platform": system, "platform_system": name, "os_name": "nt" if system == "win32" else "posix"}
    | {"python_version": python, "python_full_version": f"{python}.0"}
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows"))
    for python in ("3.11", "3.12", "3.13", "3.14")
]

INSTALLED = Path(sys.prefix) / "installed"
from_the_lock = pytest.mark.skipif(
    not (INSTALLED.is_file() and INSTALLED.read_text().strip() == "requirements.lock"),
    reason="this environment is not of requirements.lock (make .venv/installed)",
)


@dataclass(frozen=True)
class Entry:
    """A pinned distribution, with how many files of it may be installed."""

    pin: str
    marker: Marker | None
    hashes: int

    def holds(self, platform: dict[str, str] | None = None) -> bool:
        return self.marker is None or self.marker.evaluate(platform)


@cache
def entries() -> dict[str, Entry]:
    """Each entry by its name; a line that is neither of an entry nor a comment is an error."""
    found: dict[str, Entry] = {}
    lines = TEXT.replace("\\\n", "").splitlines()
    for line in (line for line in lines if not line.lstrip().startswith("#")):
        match = re.fullmatch(r"([a-z0-9-]+)==([\w.]+)(?: ; (.+?))?((?: +--hash=sha256:[0-9a-f]{64})*) *", line)
        assert match is not None, f"neither a pin with hashes nor a comment: {line:.80}"
        name, pin, marker, hashes = match.groups()
        assert name not in found, f"{name} has two versions: one of them is not tested"
        found[name] = Entry(pin, Marker(marker) if marker else None, hashes.count("--hash"))
    return found


def asked() -> list[Requirement]:
    """What pyproject.toml asks for, but of itself."""
    extras = [texts for extra, texts in PROJECT["optional-dependencies"].items() if extra not in NOT_LOCKED]
    texts = [PYPROJECT["build-system"]["requires"], PROJECT["dependencies"], *extras]
    requirements = [Requirement(text) for group in texts for text in group]
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


def needed_here() -> dict[str, list[Requirement]]:
    """What is reached from pyproject.toml on this platform, by name, as the installed distributions ask for it."""
    reached: dict[str, list[Requirement]] = {}
    done: set[tuple[str, str]] = set()
    ahead = [requirement for requirement in asked() if requirement.marker is None or requirement.marker.evaluate()]
    while ahead:
        requirement = ahead.pop()
        name = canonicalize_name(requirement.name)
        reached.setdefault(name, []).append(requirement)
        for extra in {"", *requirement.extras} - {extra for other, extra in done if other == name}:
            done.add((name, extra))
            try:
                needs = [Requirement(text) for text in requires(name) or ()]
            except PackageNotFoundError:  # and so not locked, or not as installed: either test says so
                needs = []
            ahead += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
    return reached


def test_every_entry_has_a_hash() -> None:
    assert entries()
    assert [name for name, entry in entries().items() if entry.hashes == 0] == []


def test_no_place_is_written_into_the_lock() -> None:
    assert "://" not in TEXT
    assert not re.search(r"(^|\s)(/|~|[A-Z]:\\)", TEXT, re.MULTILINE), "a path of a machine"
    assert not re.search(r"^\s*--(?!hash=)", TEXT, re.MULTILINE), "an option, such as an index"


def test_what_pyproject_asks_for_is_locked_within_its_bounds() -> None:
    for requirement in asked():
        entry = entries().get(canonicalize_name(requirement.name))
        assert entry is not None, f"{requirement.name} is not locked: run `make lock`"
        assert entry.pin in requirement.specifier, f"{requirement} is not locked: {entry.pin} is; `make lock`"
        for platform in PLATFORMS:
            if requirement.marker is None or requirement.marker.evaluate(platform):
                assert entry.holds(platform), f"{requirement.name} is not locked for {platform}"


@pytest.mark.slow
@from_the_lock
def test_the_lock_is_what_is_needed_here_no_more_and_no_less() -> None:
    needed = needed_here()
    locked = {name: entry for name, entry in entries().items() if entry.holds()}
    assert locked.keys() == needed.keys(), "run `make lock`"
    for name, requirements in needed.items():
        assert [str(need) for need in requirements if locked[name].pin not in need.specifier] == []


@pytest.mark.slow
@from_the_lock
def test_what_is_installed_is_what_is_locked() -> None:
    locked = {name: entry.pin for name, entry in entries().items() if entry.holds()}
    assert {name: version(name) for name in locked} == locked, "run `make .venv/installed`"
