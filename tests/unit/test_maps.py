"""The tables of files in the packages' READMEs say what the modules' docstrings say."""

from __future__ import annotations

from tests.release.maps import PACKAGES, ROOT, readmes, table, written


def test_tables_of_files_are_as_the_modules_are() -> None:
    old = [str(path.relative_to(ROOT)) for path in readmes() if written(path) != path.read_text()]
    assert not old, "run `make readme`"


def test_every_package_has_a_table_without_empty_rows() -> None:
    paths = readmes()
    assert {ROOT / package / "README.md" for package in PACKAGES} <= set(paths)
    assert not [path for path in paths for row in table(path).splitlines() if row.endswith("|  |")]
