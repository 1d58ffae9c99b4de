"""Every section of docs/mathematics.md that is cited is there, and every theorem names a test that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mathematics.md"
HEADING = re.compile(r"^##+ (\d+(?:\.\d+)?)\.? ", re.MULTILINE)
THEOREM = re.compile(r"^\*\*Theorem (\d+\.\d+)\.\*\*", re.MULTILINE)
CITED = re.compile(r"docs/mathematics\.md, sections? ((?:\d+(?:\.\d+)?(?:, | and )?)+)")


def numbers(text: str) -> list[str]:
    """The numbers of the sections that a text cites, whatever lines it is broken into."""
    return [
        number for cited in CITED.findall(" ".join(text.split())) for number in re.findall(r"\d+(?:\.\d+)?", cited)
    ]


def citing() -> Iterator[tuple[str, str]]:
    """Path and text of every file that names the page."""
    for folder in ("privacy", "planner", "server", "tests", "docs", "."):
        for path in sorted((ROOT / folder).glob("*.md" if folder == "." else "**/*.[pm][yd]")):
            text = path.read_text(encoding="utf-8")
            if path != Path(__file__) and "mathematics.md" in text:
                yield str(path.relative_to(ROOT)), text


def sections() -> dict[str, str]:
    """By number, the text of each section, without those below it."""
    parts = HEADING.split(PAGE.read_text(encoding="utf-8"))[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(docs/mathematics.md, section 3.1), 0.5 of it", ["3.1"]),
        ("docs/mathematics.md,\n    sections 6.5, 5.1 and 7.1. Of 8", ["6.5", "5.1", "7.1"]),
        ("docs/mathematics.md, section 12. A 3", ["12"]),
    ],
)
def test_a_citation_is_read(text: str, found: list[str]) -> None:
    assert numbers(text) == found


def test_a_section_that_is_cited_is_there() -> None:
    cited = [(path, number) for path, text in citing() for number in numbers(text)]
    assert len(cited) > 90, "they are found"
    assert not [place for place in cited if place[1] not in sections()]


def test_each_citation_says_which_section() -> None:
    """Code and tests cite a section, in the one form that is checked; pages link."""
    for path, text in citing():
        if path.endswith(".py"):
            named = " ".join(text.split()).count("docs/mathematics.md")
            assert named == len(CITED.findall(" ".join(text.split()))), path


def test_a_section_that_the_page_itself_names_is_there() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    named = re.findall(r"[Ss]ections? (\d+(?:\.\d+)?)|theorem (\d+\.\d+)", text)
    assert len(named) > 40 and {section or theorem for section, theorem in named} <= sections().keys()


def test_a_theorem_has_its_section_s_number_and_names_a_test() -> None:
    found = {number: THEOREM.findall(text) for number, text in sections().items()}
    assert sum(map(len, found.values())) > 50, "they are found"
    for number, theorems in found.items():
        assert theorems in ([], [number]), number
        tested = sections()[number].partition("\nTested by ")[2]
        tests = re.findall(r"`(tests/[\w/]+\.py)`", tested)
        assert tests or not theorems, number
        assert not [path for path in tests if not (ROOT / path).is_file()], number
