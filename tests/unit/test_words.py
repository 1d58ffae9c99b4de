"""Pages and messages use the glossary's words, and pages have short sentences.

The last table of GLOSSARY.md has the words that are not used. Proselint finds only typography here, and Vale's wheel
downloads its program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "planner", "privacy", "server", "deploy", "tests/security", "tests/benchmarks/comparison")
PAGES = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
MODULES = [path for folder in ("planner", "privacy", "server") for path in (ROOT / folder).rglob("*.py")]
SCRIPTS = [
    path for kind in ("html", "js") for path in (ROOT / "server/console/static").rglob(f"*.{kind}")
    if "vendor" not in path.parts
]  # fmt: skip
LONGEST, MEAN = 25, 20
"""Words in a sentence: of any, and of a page's in the mean."""

_OLD_WORDS = re.compile(r"(?ms)^\| (?:not \| but|before \| after|old \| new)\b.*?(?:^$|\Z)")
_NOT_PROSE = re.compile(
    r"(?ms)^<!-- [^>\n]*written by.*?<!-- end of|^```.*?^```$|^    [^\n]*$|^#[^\n]*$|!\[.*?\]\(.*?\)"
)
_BLOCK = re.compile(r"(?m)\n\s*\n|^\s*(?:[*-]|\d+\.) | ?\|(?: |$)|^Out: ")
_MARKUP = (
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"`[^`]*`|\b\w+\.(?:md|py)\b", "code"),
    (r"(?<=\d)\.(?=\d)|\.{3}|\*", ""),
)


@cache
def avoided() -> dict[str, str]:
    """By words that are not used, the words to use."""
    table = (ROOT / "GLOSSARY.md").read_text().partition("\n## Words that")[2]
    rows = re.findall(r"(?m)^\| (.+?) \| (.+?) \| .+ \|$", table)[2:]
    return {words: instead for old, instead in rows for words in old.split(", ")}


def wrong_words(text: str) -> list[str]:
    known = "|".join(map(re.escape, avoided()))
    found = re.findall(rf"(?i)\b(?:{known})\b", " ".join(text.split()))
    return [f"{words} -> {avoided()[words]}" for words in sorted({words.lower() for words in found})]


def sentences(page: str) -> Iterator[str]:
    """The sentences of paragraphs, list items and cells: no headings, code, or what scripts write."""
    for block in _BLOCK.split(_NOT_PROSE.sub("\n\n", page)):
        for pattern, plain in _MARKUP:
            block = re.sub(pattern, plain, block)
        yield from filter(None, re.split(r"(?<=[.!?])[\"')]*\s+", " ".join(block.split())))


def messages(module: Path) -> Iterator[str]:
    """The texts in a module, other than docstrings."""
    tree = ast.parse(module.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_pages_have_the_glossary_s_words_and_short_sentences() -> None:
    assert len(PAGES) > 50
    for path in PAGES:
        page, name = _OLD_WORDS.sub("", path.read_text()), path.relative_to(ROOT)
        assert not wrong_words(page), name
        lengths = {one: len(re.findall(r"\S*[^\W\d_]\S*", one)) for one in sentences(page)}
        assert not [one for one, length in lengths.items() if length > LONGEST], name
        assert fmean(lengths.values() or [0]) <= MEAN, name


def test_messages_have_the_glossary_s_words() -> None:
    found = [(path.name, text, wrong_words(text)) for path in MODULES for text in messages(path) if " " in text]
    assert len(found) > 1000 and not [one for one in found if one[2]]
    assert len(SCRIPTS) > 30 and not [path.name for path in SCRIPTS if wrong_words(path.read_text())]


def test_a_wrong_word_and_a_sentence_are_found() -> None:
    assert len(avoided()) > 20 and wrong_words("The Custodian's\nkept answers")[0].startswith("custodian")
    page = "# A b\n\nOne `x y` two. Three\n\n* four\n* five 1.5\n| six | seven. |\n\n```sh\nno\n```\n"
    assert list(sentences(page)) == ["One code two.", "Three", "four", "five 15", "six", "seven."]
