"""The tables in the packages' READMEs are their maps: every file has its row, and every file in a row is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("privacy", "planner", "server")
MAPS = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("README.md"))

Rows = dict[Path, list[str]]
"""By folder, the rows of the tables of files about it."""


def rows(readme: Path) -> Rows:
    """The tables whose first column is `file` or `where`; one stands below the heading of its folder."""
    found: Rows = {}
    folder, inside = readme.parent, False
    for line in readme.read_text().splitlines():
        if heading := re.match(r"#+ ([\w/]+)", line):
            named = readme.parent / heading[1]
            folder = named if named.is_dir() else readme.parent
        inside = line.startswith("|") and (inside or re.match(r"\| (file|where) \|", line, re.IGNORECASE) is not None)
        if inside:
            found.setdefault(folder, []).append(line)
    return found


@cache
def modules() -> dict[str, list[Path]]:
    """All files, by their names without folders."""
    found: dict[str, list[Path]] = {}
    for top in (*PACKAGES, "tests"):
        for path in (ROOT / top).rglob("*.py"):
            found.setdefault(path.name, []).append(path)
    return found


def names(lines: list[str]) -> set[str]:
    return {name for line in lines for name in re.findall(r"`([\w./]+)`", line)}


def mapped(readme: Path) -> list[Path]:
    """The files whose nearest README this is."""
    folders = {other.parent for other in MAPS}
    files = (path for path in readme.parent.rglob("*.py") if path.name != "__init__.py")
    return sorted(path for path in files if next(up for up in path.parents if up in folders) == readme.parent)


def is_named(path: Path, tables: Rows) -> bool:
    """By a row of its own folder's table; where that has none, by a row above for the folder or the file."""
    if path.parent in tables:
        return path.name in names(tables[path.parent])
    above = {folder: names(lines) for folder, lines in tables.items() if folder in path.parents}
    places = [path, *path.parents]
    return any(
        str(place.relative_to(folder)) + ("/" if place.is_dir() else "") in named or place.name in named
        for folder, named in above.items()
        for place in places
        if folder in place.parents
    )


def test_every_file_has_its_row() -> None:
    for readme in MAPS:
        tables = rows(readme)
        missing = [str(path.relative_to(ROOT)) for path in mapped(readme) if not is_named(path, tables)]
        assert not tables or not missing, f"{readme.relative_to(ROOT)} has no row for {', '.join(missing)}"


def test_every_file_in_a_row_is_there() -> None:
    for readme in MAPS:
        first = {folder: names([line.split("|")[1] for line in lines]) for folder, lines in rows(readme).items()}
        gone = [
            name
            for folder, named in first.items()
            for name in named
            if name.endswith(".py")
            and not any(
                path.match(name) and path.is_relative_to(above)
                for above in (folder, ROOT / "tests")
                for path in modules().get(Path(name).name, ())
            )
        ]
        assert not gone, f"{readme.relative_to(ROOT)} has rows for {', '.join(gone)}"


def test_there_are_maps_to_compare() -> None:
    assert {readme.parent.name for readme in MAPS if rows(readme)} >= {*PACKAGES, "mechanisms", "ledger"}
