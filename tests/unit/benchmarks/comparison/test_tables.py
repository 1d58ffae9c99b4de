"""The comparison's README says what was measured and what tests show, and its features name tests that exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import cast

import pytest

from tests.benchmarks.comparison.tables import (
    DOCS,
    README,
    RESULTS,
    SYSTEMS,
    features,
    features_table,
    lacking_table,
    measured_table,
    ours_alone_table,
    page,
    text,
)
from tests.golden.tpch.queries import TPCH

DATA = features()
ROWS, LACKING = (cast("list[dict[str, object]]", DATA[name]) for name in ("feature", "lacking"))


def test_the_pages_say_what_the_data_says() -> None:
    """Where this fails: python -m tests.benchmarks.comparison.tables."""
    assert text(README.read_text()) == README.read_text()
    assert page(DOCS.read_text()) == DOCS.read_text()


def test_another_figure_is_another_table() -> None:
    document = json.loads(RESULTS.read_text())
    before = list(measured_table(document))
    for row in document["rows"]:
        row["value"] = 3 * row["value"] + 1
    assert list(measured_table(document)) != before


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_feature_of_ours_names_a_test(row: dict[str, object]) -> None:
    file, _, name = str(row["test"]).partition("::")
    defined = {node.name for node in ast.walk(ast.parse(Path(file).read_text())) if isinstance(node, ast.FunctionDef)}
    assert name.startswith("test_")
    assert name in defined


@pytest.mark.parametrize("row", LACKING, ids=lambda row: row["name"])
def test_what_we_lack_is_said_and_somebody_has_it(row: dict[str, object]) -> None:
    assert str(row["says"]).startswith("no: ") and Path(str(row["where"])).is_file()
    assert any(str(cell["says"]).startswith("yes") for cell in row.values() if isinstance(cell, dict))


def test_the_queries_that_we_lack_are_refused() -> None:
    (name,) = (str(row["name"]) for row in LACKING if "TPC-H" in str(row["name"]))
    numbers = re.findall(r"Q(\d+)", name)
    assert {TPCH.verdict(int(number)) for number in numbers} == {"refused"}


@pytest.mark.parametrize("row", [*ROWS, *LACKING], ids=lambda row: row["name"])
def test_what_others_say_has_an_address(row: dict[str, object]) -> None:
    sources = DATA["sources"]
    assert isinstance(sources, dict)
    said = {name: cell for name, cell in row.items() if name not in ("name", "test", "says", "where")}
    assert said.keys() <= set(SYSTEMS)
    assert all(
        isinstance(cell, dict) and str(sources[cell["source"]]).startswith("https://") for cell in said.values()
    )


def test_what_was_not_found_is_unknown() -> None:
    row = {"name": "x", "test": "tests/a.py::test_b"}
    assert list(features_table({"sources": {}, "feature": [row]}))[-1].count("unknown") == len(SYSTEMS)


def test_what_others_have_and_what_we_have_alone() -> None:
    sources = {"there": "https://example.org"}
    yes, no = ({"says": f"{word}: so", "source": "there"} for word in ("yes", "no"))
    shared = {"name": "shared", "test": "tests/a.py::test_b", "Qrlew": yes}
    alone = {"name": "alone", "test": "tests/a.py::test_c", "Qrlew": no}
    lacking = {"name": "lacking", "says": "no: not here", "where": "docs/sql.md", "Qrlew": no, "DP4SQL": yes}
    data = {"sources": sources, "feature": [shared, alone], "lacking": [lacking]}
    (_, _, ours) = ours_alone_table(data)
    assert ours == "| alone | [test_c](../tests/a.py) | Qrlew: no: so ([source](https://example.org)) |"
    (_, _, theirs) = lacking_table(data)
    who, where = "DP4SQL: so ([source](https://example.org))", "no: not here ([source](../docs/sql.md))"
    assert theirs == f"| lacking | {who} | {where} |"
