"""What a user writes by hand to have a question answered, counted from the committed text of the peers' programs.

A question's function and everything of its file that it uses count, but for imports, docstrings, comments and blank
lines. Its keyword-only arguments are what somebody typed in: a bound each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_DECORATOR = "question"

Named = dict[str, ast.stmt]


@dataclass(frozen=True)
class Written:
    """How many lines, and which bounds; functions that refuse have neither."""

    lines: int
    bounds: tuple[str, ...]


def written(source: str) -> dict[str, Written]:
    """By question, what a program's text has for it."""
    tree = ast.parse(source)
    text = source.splitlines()
    named = _named(tree)
    found = {}
    for statement in tree.body:
        for name in _questions(statement):
            assert isinstance(statement, ast.FunctionDef)
            used = _used(statement, named)
            lines = {line for part in used for line in _lines(part, text)}
            found[name] = Written(len(lines), tuple(arg.arg for arg in statement.args.kwonlyargs))
    return found


def sql_lines(sql: str) -> int:
    """Lines that hold anything: of a question, or of a policy."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in sql.splitlines())


def _questions(statement: ast.stmt) -> Iterator[str]:
    """The names under which a function answers."""
    if isinstance(statement, ast.FunctionDef):
        for decorator in statement.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == _DECORATOR:
                (name,) = decorator.args
                assert isinstance(name, ast.Constant)
                yield str(name.value)


def _named(tree: ast.Module) -> Named:
    """What stands at the top of the file, by the names that it defines; imports are left out."""
    found: Named = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                found |= {node.id: statement for node in ast.walk(target) if isinstance(node, ast.Name)}
    return found


def _used(statement: ast.stmt, named: Named) -> list[ast.stmt]:
    """The statement, and what it names, and what that names."""
    found, left = [], [statement]
    while left:
        one = left.pop()
        if one not in found:
            found.append(one)
            names = {node.id for part in _body(one) for node in ast.walk(part) if isinstance(node, ast.Name)}
            left += [named[name] for name in sorted(names & named.keys())]
    return found


def _body(statement: ast.stmt) -> list[ast.stmt]:
    """What is written in it: of a function all but its docstring, its decorators and its signature."""
    if not isinstance(statement, ast.FunctionDef):
        return [statement]
    first = statement.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return statement.body[1:] if is_docstring else statement.body


def _lines(statement: ast.stmt, text: list[str]) -> Iterator[int]:
    for part in _body(statement):
        for line in range(part.lineno, (part.end_lineno or part.lineno) + 1):
            if text[line - 1].strip() and not text[line - 1].strip().startswith("#"):
                yield line
