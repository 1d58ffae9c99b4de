"""The comparison's README says what was measured and what tests show, and its features name tests that exist."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.comparison.tables import README, RESULTS, features, features_table, measured_table, text

DATA = features()
ROWS = DATA["feature"]
assert isinstance(ROWS, list)


def test_the_readme_says_what_the_data_says() -> None:
    """Where this fails: python -m tests.benchmarks.comparison.tables."""
    assert text(README.read_text()) == README.read_text()


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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_what_others_say_has_an_address(row: dict[str, object]) -> None:
    sources = DATA["sources"]
    assert isinstance(sources, dict)
    said = {name: cell for name, cell in row.items() if name not in ("name", "test")}
    assert said.keys() <= {peer.name for peer in PEERS}
    assert all(
        isinstance(cell, dict) and str(sources[cell["source"]]).startswith("https://") for cell in said.values()
    )


def test_what_was_not_found_is_unknown() -> None:
    row = {"name": "x", "test": "tests/a.py::test_b"}
    assert list(features_table({"sources": {}, "feature": [row]}))[-1].count("unknown") == len(PEERS)
