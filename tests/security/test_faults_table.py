"""The table of faults names tests that there are, and every fault that a running proxy is said to survive."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
FAULTS = (
    "restarted", "stands still", "cut", "over its limit", "serialization", "other columns", "mirror", "locked",
    "no room", "clock", "solver fails", "solver takes too long", "memory", "worker is killed", "proxy dies",
    "cut off", "yesterday",
)  # fmt: skip


def _rows() -> list[list[str]]:
    text = (TESTS / "security" / "README.md").read_text().partition("\n## Faults\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return rows[2:] if set(rows[1][0]) <= {"-"} else rows[1:]


def test_every_fault_has_its_row_with_an_outcome_and_a_test() -> None:
    rows = _rows()
    for fault in FAULTS:
        assert any(fault in row[0] for row in rows), fault
    assert all(len(row) == 3 and row[1] and "`" in row[2] for row in rows)


def test_every_test_of_the_table_exists() -> None:
    named = [name for row in _rows() for name in re.findall(r"`([^`]+)`", row[2])]
    assert len(named) >= len(FAULTS)
    for name in named:
        file, _, function = name.partition("::")
        tree = ast.parse((TESTS / file).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in functions, name


def test_every_fault_of_a_running_proxy_is_in_the_table() -> None:
    named = {name for row in _rows() for name in re.findall(r"`e2e/test_faults.py::([^`]+)`", row[2])}
    tree = ast.parse((TESTS / "e2e" / "test_faults.py").read_text())
    assert named == {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
