"""Each figure of a paper that is said to be reproduced has stored figures under the names that are given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (BENCHMARKS / "PAPERS.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| paper", "| ---"))
]
NAMED = [row[2] for row in ROWS if row[2] != "nothing"]


@pytest.mark.parametrize("named", sorted(set(NAMED)))
def test_the_figures_are_stored(named: str) -> None:
    found = re.fullmatch(r"`(\w+\.json)`: (.+)", named)
    assert found is not None
    document = json.loads((BENCHMARKS / "results" / found[1]).read_text())
    cases = {row["case"] for row in document["rows"]}
    for start in found[2].split("; "):
        assert any(case.startswith(start) for case in cases), f"{found[1]} has no case {start}"


def test_what_is_not_reproduced_says_why() -> None:
    assert len(ROWS) > len(NAMED) > 0
    assert all(len(row) == 4 and row[3] for row in ROWS)
