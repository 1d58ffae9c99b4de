"""The pages name files that are there."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")))
TOP = ("README.md", "GLOSSARY.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = (*TOP, *DOCS)


def text(page: str) -> str:
    return (ROOT / page).read_text()


def places(page: str) -> list[str]:
    """What stands in backticks and is a path within the project."""
    named = re.findall(r"`((?:privacy|planner|server|tests)/[\w./]*)`", text(page))
    return sorted({*named})


def links(page: str) -> list[tuple[str, str]]:
    """(path, anchor) of every link that leads to a file of the project."""
    found = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text(page))
    folder = (ROOT / page).parent
    linked = {(os.path.relpath(folder / path, ROOT) if path else page, anchor) for path, anchor in found}
    return sorted(linked)


def anchors(path: str) -> set[str]:
    """How GitHub names a page's headings."""
    headings = re.findall(r"^#+ (.*)$", text(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_file_that_a_page_names_is_there() -> None:
    missing = [
        f"{page}: {place}"
        for page in PAGES
        for place in places(page)
        if not ((ROOT / place).is_dir() if place.endswith("/") else (ROOT / place).is_file())
    ]
    assert not missing


def test_a_link_of_a_page_leads_somewhere() -> None:
    for page in PAGES:
        for path, anchor in links(page):
            assert (ROOT / path).exists(), (page, path)
            assert not anchor or anchor in anchors(path), (page, path, anchor)
