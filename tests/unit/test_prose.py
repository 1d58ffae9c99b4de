"""The pages name files that are there, and lists of places that are short."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")))
TOP = ("README.md", "GLOSSARY.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = (*TOP, *DOCS)
MOST_FILES = 6
MOST_FILES_OF_A_MECHANISM = 4
CHANGES = 8


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


def changes() -> dict[str, list[str]]:
    """The sections of the eight changes, each with its numbered lines."""
    after = text("CONTRIBUTING.md").split("\n## Eight changes")[1]
    sections = re.split(r"^### ", after, flags=re.MULTILINE)[1:]
    return {section.splitlines()[0]: re.findall(r"^\d\. (.*)$", section, flags=re.MULTILINE) for section in sections}


@pytest.mark.parametrize(("page", "place"), [(page, place) for page in PAGES for place in places(page)])
def test_a_file_that_a_page_names_is_there(page: str, place: str) -> None:
    path = ROOT / place
    assert path.is_dir() if place.endswith("/") else path.is_file()


@pytest.mark.parametrize(
    ("page", "path", "anchor"), [(page, path, anchor) for page in PAGES for path, anchor in links(page)]
)
def test_a_link_of_a_page_leads_somewhere(page: str, path: str, anchor: str) -> None:
    assert (ROOT / path).exists()
    assert not anchor or anchor in anchors(path)


def test_every_term_of_the_glossary_has_a_file_and_a_source() -> None:
    rows = [line.split(" | ") for line in text("GLOSSARY.md").splitlines() if line.startswith("| ")]
    terms = [row for row in rows if not row[0].startswith(("| term", "| ---"))]
    assert len(terms) > 40
    for term in terms:
        assert len(term) == 4, f"{term[0]}: term, meaning, file, source"
        assert re.fullmatch(r"`[\w./]+\.py`", term[2]), term[0]
        assert term[3].removesuffix(" |"), term[0]


def test_each_of_the_changes_touches_few_files() -> None:
    lists = changes()
    assert len(lists) == CHANGES
    for change, lines in lists.items():
        assert 0 < len(lines) <= MOST_FILES, change
        assert all(line.startswith("`") for line in lines), f"{change}: a line begins with its file"
    assert len(lists["A mechanism"]) <= MOST_FILES_OF_A_MECHANISM


@pytest.mark.parametrize("page", [page for page in TOP if page != "CHANGELOG.md"])
def test_there_are_places_and_links_to_follow(page: str) -> None:
    assert places(page) or links(page)
