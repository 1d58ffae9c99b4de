"""Docstrings say something: the term of art and its consequence, not the name over again.

That every public thing has one is ruff's to see (rules D1).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("privacy", "planner", "server")
LEAST_WORDS = 4
LEAST_WORDS_OF_A_TEST = 3
FILLING = {"a", "an", "the", "of", "its"}

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public(tree: ast.AST, within: str = "") -> Iterator[tuple[str, str]]:
    """The name and docstring of every public class, function and method."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield within + node.name, ast.get_docstring(node) or ""
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{node.name}.")


def words(text: str) -> list[str]:
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return re.findall(r"[a-z0-9]+", apart.lower())


def says_nothing(name: str, docstring: str) -> bool:
    repeated = {*words(docstring)} - FILLING <= {*words(name.rpartition(".")[2])}
    return len(docstring.split()) < LEAST_WORDS or repeated


def test_a_public_docstring_says_more_than_the_name() -> None:
    for package in PACKAGES:
        empty = [
            f"{path.relative_to(ROOT)}: {name}: {docstring!r}"
            for path in sorted((ROOT / package).rglob("*.py"))
            for name, docstring in public(ast.parse(path.read_text()))
            if says_nothing(name, docstring)
        ]
        assert not empty, "say what it is and what follows from that: " + "; ".join(empty)


def raised(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Does the function itself raise, functions within it aside?"""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and node.exc is not None and ast.unparse(node.exc) != "NotImplementedError":
            return True
        if not isinstance(node, Documented | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def silent(tree: ast.AST, within: str = "") -> Iterator[str]:
    """Public functions that raise, and whose docstrings name no error."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from silent(node, f"{node.name}.")
        elif raised(node) and not re.search(r"\b[Rr]aises?\b", ast.get_docstring(node) or ""):
            yield within + node.name


SHOWN = (
    "server/cli/commands",
    "server/cli/commands/shell.py",
    "server/cli/commands/workload.py",
    "server/http/routes",
)
"""Where docstrings are help texts and the API's description, which name exit codes and problems instead."""


def test_a_public_function_that_raises_names_the_error() -> None:
    for package in PACKAGES:
        found = [
            f"{name}: {function}"
            for path in sorted((ROOT / package).rglob("*.py"))
            if not (name := str(path.relative_to(ROOT))).startswith(SHOWN)
            for function in silent(ast.parse(path.read_text()))
        ]
        assert not found, package


def test_a_test_is_named_by_subject_condition_and_result() -> None:
    """Of which a name of one or two words can have none."""
    for folder in ["unit", "integration"]:
        short = [
            f"{path.relative_to(ROOT)}: {node.name}"
            for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
            and len(node.name.split("_")) - 1 < LEAST_WORDS_OF_A_TEST
        ]
        assert not short, folder


def test_what_counts_as_saying_nothing() -> None:
    for name, docstring, nothing in [
        ("Charge.name", "The charge's name.", True),
        ("head", "The last entry.", True),
        ("noise_scale_of_release", "The noise scale of a release.", True),
        ("head", "The last entry, onto which the next is chained.", False),
    ]:
        assert says_nothing(name, docstring) == nothing, name
