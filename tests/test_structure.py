"""The house: few small modules, and imports that run one way between files and between folders.

A room is a child of a folder: a file, or a folder with all that is in it. Imports are those that run when a module is
imported, those within functions and those under TYPE_CHECKING alike: who names a thing depends on it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
PACKAGES = ("privacy", "planner", "server")
MAX_MODULES, LEAST_MEDIAN_LINES = 480, 150
SMALL_LINES, MAX_SMALL_MODULES = 60, 40
MAX_FLOORS = 12

Graph = dict[str, set[str]]


@cache
def files(package: str) -> dict[str, Path]:
    """The modules of a package by their dotted names, without the `__init__.py` that only say what a folder is."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        if path.name != "__init__.py":
            found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = path
    return found


@cache
def imported(path: Path) -> frozenset[str]:
    """What a file imports, by dotted names, within functions too."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
    return frozenset(named)


@cache
def imports(package: str) -> Graph:
    """Which module imports which, within the package."""
    modules = files(package)
    return {module: set(imported(path) & modules.keys()) - {module} for module, path in modules.items()}


def rooms(graph: Graph, folder: str) -> Graph:
    """The same between the children of a folder."""
    depth = folder.count(".") + 2
    inside: Graph = defaultdict(set)
    for module, named in graph.items():
        if module.startswith(f"{folder}."):
            room = ".".join(module.split(".")[:depth])
            inside[room] |= {".".join(other.split(".")[:depth]) for other in named if other.startswith(f"{folder}.")}
            inside[room] -= {room}
    return inside


def folders(package: str) -> list[str]:
    return sorted(
        {".".join(module.split(".")[:k]) for module in files(package) for k in range(1, module.count(".") + 1)}
    )


def cycle(graph: Graph) -> str:
    """One cycle, as an arrow runs; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


def floors(graph: Graph) -> int:
    """How many rooms the longest chain of imports passes."""
    height: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        height[room] = 1 + max((height[other] for other in graph.get(room, ())), default=0)
    return max(height.values())


def test_few_modules_are_small() -> None:
    """A module is what one reader reads for one reason: one that is always read beside another joins it."""
    lengths = [len(path.read_text().splitlines()) for package in PACKAGES for path in files(package).values()]
    assert len(lengths) <= MAX_MODULES
    assert median(lengths) >= LEAST_MEDIAN_LINES
    assert sum(length < SMALL_LINES for length in lengths) <= MAX_SMALL_MODULES


def test_files_import_one_another_in_no_circle() -> None:
    for package in PACKAGES:
        assert cycle(imports(package)) == "", package


def test_rooms_of_a_folder_import_one_another_in_no_circle() -> None:
    for package in PACKAGES:
        graph = imports(package)
        circles = [found for folder in folders(package) if (found := cycle(rooms(graph, folder)))]
        assert not circles, package


def test_the_planner_has_few_floors() -> None:
    assert floors(rooms(imports("planner"), "planner")) <= MAX_FLOORS


def test_nothing_of_the_ledger_is_a_cached_property() -> None:
    """In Python 3.11 one lock serves all instances while one computes: views of a ledger wait for databases."""
    named = [
        path.name
        for module, path in files("server").items()
        if module.startswith("server.ledger.") and "import cached_property" in path.read_text()
    ]
    assert not named
