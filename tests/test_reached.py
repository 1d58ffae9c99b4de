"""No module without a way to it: from the command line, by imports and by what is named to be imported later."""

from __future__ import annotations

import ast

from server.cli import main
from tests.test_structure import PACKAGES, files, imported

NAMES_MODULES = ("privacy.registry", "server.workers.worker")
"""They name modules, also as `module:function`, which are imported when they are needed."""


def reached() -> set[str]:
    modules = {module: path for package in PACKAGES for module, path in files(package).items()}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        named = set(imported(path))
        if module in NAMES_MODULES:
            tree = ast.walk(ast.parse(path.read_text()))
            texts = (node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str))
            named |= {text.partition(":")[0] for text in texts}
        graph[module] = named & modules.keys()
    groups: list[type[main.LazyGroup]] = [main.LazyGroup, *main.LazyGroup.__subclasses__()]
    commands = {target.partition(":")[0] for group in groups for target in group.functions.values()}
    found, left = set(), ["server.cli.main", *commands]
    while left:
        module = left.pop()
        if module not in found:
            found.add(module)
            left.extend(graph[module])
    return found


def test_every_module_is_reached() -> None:
    assert {module for package in PACKAGES for module in files(package)} == reached()
