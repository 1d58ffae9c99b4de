"""What the project may be used under, and what it owes to the authors of what it contains."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
APACHE_2_0 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of https://www.apache.org/licenses/LICENSE-2.0.txt."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VENDORED = sorted((ROOT / "server/console/static/vendor").glob("*.min.js"))


def words(text: str) -> str:
    """The text however it is indented and broken into lines."""
    return " ".join(text.split())


def test_the_licence_is_the_text_of_the_apache_foundation() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2_0
    assert PROJECT["license"] == "Apache-2.0"


def test_every_pattern_of_licence_files_finds_one() -> None:
    # An installation from the sources fails where one does not.
    assert all(any(ROOT.glob(pattern)) for pattern in PROJECT["license-files"])


def test_a_vendored_library_has_its_licence_beside_it_and_in_the_notice() -> None:
    for library in VENDORED:
        licence = library.with_name(library.name.replace(".min.js", ".LICENSE")).read_text()
        notice = (ROOT / "NOTICE").read_text()
        assert library.name in notice, library
        assert words(licence) in words(notice), library


def test_there_are_vendored_libraries_to_compare() -> None:
    assert [path.name for path in VENDORED] == ["d3.min.js", "plot.min.js"]
