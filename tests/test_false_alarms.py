"""How often the whole suite fails by chance: the tests that can say so by a mark, and here they are added up.

Read from the source, so that what one command leaves out counts too. A mark speaks for all of what it marks: a test
with parameters or a loop states the sum over them, a `pytestmark` that of its file or class. Its number is written
down, or is a name of its own module or of the one it is imported from, or is calculated from such.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 1e-6
"""Of all tests together."""

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def stated(root: Path) -> dict[str, float]:
    """The probability of every mark in the tests of a repository, by file and line.

    Raises: ValueError for a mark whose number cannot be read, or that may mark more than one thing.
    """
    found = {}
    for path in sorted((root / "tests").rglob("*.py")):
        if "statistical" in path.read_text():
            for mark in _marks(_parsed(path)):
                place = f"{path.relative_to(root)}:{mark.lineno}"
                call = _call_of(path, mark, place)
                found[f"{place}:{mark.col_offset}"] = _number(call.args[0], path, root)
    return found


def _marks(tree: ast.Module) -> Iterator[ast.Attribute]:
    """Every `pytest.mark.statistical`, called or not."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "statistical"
            and ast.unparse(node.value).endswith("mark")
        ):
            yield node


def _call_of(path: Path, mark: ast.Attribute, place: str) -> ast.Call:
    """The call with the number, where it stands where pytest reads marks: under a name it could be used twice."""
    for node in ast.walk(_parsed(path)):
        roots: list[ast.expr] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            roots = node.decorator_list
        elif (isinstance(node, ast.keyword) and node.arg == "marks") or (
            isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]
        ):
            roots = [node.value]
        for root in roots:
            for inner in (root, *getattr(root, "elts", ())):
                if isinstance(inner, ast.Call) and inner.func is mark and len(inner.args) == 1 and not inner.keywords:
                    return inner
    raise ValueError(f"{place}: a decorator, `pytestmark` or `marks=` with one number")


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _number(node: ast.expr, path: Path, root: Path) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, path, root)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_number(node.left, path, root), _number(node.right, path, root))
    if isinstance(node, ast.Name):
        for statement in _parsed(path).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                if node.id in map(ast.unparse, targets):
                    return _number(statement.value, path, root)
            if isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    if node.id == (alias.asname or alias.name):
                        other = root / f"{(statement.module or '').replace('.', '/')}.py"
                        return _number(ast.Name(alias.name), other, root)
    raise ValueError(f"{path}: no number, nor the name of one: {ast.unparse(node)}")


def test_the_whole_suite_fails_by_chance_once_in_a_million_runs_at_most() -> None:
    marks = stated(ROOT)
    assert all(0 < probability < 1 for probability in marks.values()), marks
    largest = dict(sorted(marks.items(), key=lambda mark: -mark[1]))
    assert sum(marks.values()) <= MOST, largest


def test_every_form_of_the_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "constants.py").write_text("BASE: float = 1e-3\nTHRICE = 3 * BASE\n")
    forms = (
        "import pytest\nfrom tests.constants import THRICE as IMPORTED\nOWN = IMPORTED / 2 + 2**-4\n"
        "pytestmark = [pytest.mark.slow, pytest.mark.statistical(0.25)]\n"
        "@pytest.mark.statistical(OWN)\nclass Test:\n    @pytest.mark.statistical(1e-6)\n    def test(self): pass\n"
        "@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.statistical(IMPORTED))])\n"
        "async def test(x): pass\n"
    )
    (tmp_path / "tests" / "test_forms.py").write_text(forms)
    found = sorted(stated(tmp_path).values())
    assert found == pytest.approx([1e-6, 0.003, 0.0015 + 0.0625, 0.25])
    for wrong in (
        "TWICE = pytest.mark.statistical(1e-9)\n",
        "@pytest.mark.statistical\ndef test(): pass\n",
        "@pytest.mark.statistical()\ndef test(): pass\n",
        "@pytest.mark.statistical(UNKNOWN)\ndef test(): pass\n",
        "@pytest.mark.statistical('often')\ndef test(): pass\n",
    ):
        (tmp_path / "tests" / "test_wrong.py").write_text(wrong)
        _parsed.cache_clear()
        with pytest.raises(ValueError, match="number"):
            stated(tmp_path)
