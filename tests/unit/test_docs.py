"""docs/ and README.md: short, current, built without a warning, and with nothing that another server has to send."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planner.policy.policy import parse_policy
from server.http.query_body import QueryBody
from server.query import SETTINGS, RequestSettings
from tests.release import policy_reference, settings_reference, sql_reference
from tests.release.readme import BLOCKS, RESULTS, ROOT, written

PAGES = sorted((ROOT / "docs").glob("*.md"))
RUN = {
    "console": "tests/e2e/test_administrators_walk.py",
    "sql": "tests/e2e/test_docs.py",
    "toml": "tests/e2e/test_docs.py",
    "yaml": "tests/e2e/test_docs.py",
    "python": "tests/e2e/test_dashboards.py",
    "json": "tests/e2e/test_dashboards.py",
    "ipython": "tests/e2e/clients/tools/test_notebooks.py",
}
"""The kinds of examples, and where each is run."""

ONLY_SHOWN = {"text", "sh", "{toctree}"}
"""Output, a command of the system's, and what Sphinx reads."""


def test_the_readme_has_its_two_commands_and_its_picture() -> None:
    text = (ROOT / "README.md").read_text()
    assert "$ make demo " in text and "$ make test " in text
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    content = (ROOT / picture).read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) < 400_000


def test_every_stored_figure_is_what_the_pages_say() -> None:
    """Where this fails: `make readme`."""
    for path, text in written().items():
        assert path.read_text(encoding="utf-8") == text, path


def test_another_figure_is_another_block() -> None:
    for place in range(len(BLOCKS)):
        _, _, benchmark, block = BLOCKS[place]
        document = json.loads((RESULTS / f"{benchmark}.json").read_text())
        before = block(document)
        for row in document["rows"]:
            row["value"] = 3 * row["value"] + 1
        assert block(document) != before, place


def test_the_reference_is_what_the_planner_decides_by() -> None:
    """Where this fails: `python -m tests.release.sql_reference`."""
    text = sql_reference.PAGE.read_text(encoding="utf-8")
    assert sql_reference.written(text) == text
    assert set(sql_reference.ABOUT) == set(sql_reference.allowed_aggregates())


def test_the_page_of_http_has_every_setting_of_a_question() -> None:
    """Where this fails: `python -m tests.release.settings_reference`."""
    text = settings_reference.PAGE.read_text(encoding="utf-8")
    assert settings_reference.written(text) == text
    assert (
        SETTINGS.keys()
        == {one.name for one in fields(RequestSettings)}
        == QueryBody.model_fields.keys() & SETTINGS.keys()
    )


def test_the_policy_s_page_has_every_setting_that_is_read() -> None:
    """Where this fails: `python -m tests.release.policy_reference`."""
    text = policy_reference.PAGE.read_text(encoding="utf-8")
    assert policy_reference.written(text) == text
    settings = policy_reference.asked()
    assert {section for section, _ in settings} == policy_reference.SECTIONS.keys()
    readers = "".join(path.read_text() for path in (ROOT / "planner" / "policy").glob("*.py"))
    methods = "|".join(policy_reference.METHODS)
    named = set(re.findall(rf"\b\w+\.(?:{methods})\(\"(\w+)\"", readers))
    assert len(named) > 30 and named <= {key for _, key in settings}, "one is read only where it is there"


def test_the_sample_of_a_policy_is_one() -> None:
    (sample,) = re.findall(r"(?ms)^```toml\n(name = .*?)^```$", (ROOT / "docs" / "first-policy.md").read_text())
    assert parse_policy(sample).budgets.analyst is not None
    optional = re.sub(r"(?m)^# (\w+ = )", r"\1", sample)
    assert parse_policy(optional).budgets.analyst != parse_policy(sample).budgets.analyst


def test_every_example_is_of_a_kind_that_is_run() -> None:
    for page in PAGES:
        kinds = set(re.findall(r"(?m)^```(\S+)$", page.read_text()))
        assert kinds <= RUN.keys() | ONLY_SHOWN, page


class _Loaded(HTMLParser):
    """What a page loads by itself: not what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.urls.append(said.get("src") or "")
        if tag == "link" and said.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.urls.append(said.get("href") or "")


@pytest.mark.slow
def test_the_pages_are_built_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "html", "-d", str(tmp_path / "doctrees")]
    done = subprocess.run([*command, str(ROOT / "docs"), str(tmp_path / "html")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = sorted((tmp_path / "html").glob("*.html"))
    assert {path.stem for path in PAGES if path.name != "README.md"} <= {path.stem for path in built}
    for page in built:
        reader = _Loaded()
        reader.feed(page.read_text())
        assert [url for url in reader.urls if "//" in url] == [], page.name
    for style in (tmp_path / "html").rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", style.read_text()), style.name


def test_the_scales_that_were_measured_are_those_of_the_stored_run() -> None:
    """The page of engines names TPC-H's largest scale of each; the cases of the stored run name it, too."""
    rows = json.loads((ROOT / "tests" / "benchmarks" / "results" / "engines.json").read_text())["rows"]
    found = [re.match(r"(PostgreSQL|DuckDB|Parquet), scale ([\d.]+):", row["case"]) for row in rows]
    largest = {
        name: max(float(one[2]) for one in found if one and one[1] == name)
        for name in ("PostgreSQL", "DuckDB", "Parquet")
    }
    page = " ".join((ROOT / "docs" / "engines.md").read_text().split())
    assert largest == {"PostgreSQL": 4.0, "DuckDB": 1.0, "Parquet": 1.0}
    assert "TPC-H at scale 4 in PostgreSQL, at scale 1 in DuckDB and Parquet" in page
