"""Write the tables of files in the packages' READMEs from the modules' docstrings: `make readme`.

A module's first sentence stands once, in the module. A README lists the files below it as far as the next README, and
folders that have a README of their own by what their `__init__.py` says.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("privacy", "planner", "server")
START, END = "<!-- files: written by `make readme` -->", "<!-- end of files -->"


def readmes() -> list[Path]:
    """All READMEs that have a table of files."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("README.md"))
    return sorted(path for path in paths if START in path.read_text())


def first_sentence(module: Path) -> str:
    """What a module's docstring says first, on one line, as a cell of a table."""
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    sentence = re.split(r"(?<=[.!?])\s|\n\n", docstring, maxsplit=1)[0]
    return " ".join(sentence.split()).replace("|", "\\|")


def table(readme: Path) -> str:
    """Every module below a README has a row; a folder with a README of its own has one row."""
    inner = {path.parent for path in readme.parent.rglob("README.md")} - {readme.parent}
    rows = []
    for path in sorted(readme.parent.rglob("*.py")):
        within = [folder for folder in path.parents if folder in inner]
        shown = path.relative_to(readme.parent)
        if path.name == "__init__.py":
            if within and path.parent == within[-1]:
                rows.append((f"[`{shown.parent}/`]({shown.parent}/README.md)", first_sentence(path)))
        elif not within:
            rows.append((f"`{shown}`", first_sentence(path)))
    return "\n".join(["| file | what |", "| --- | --- |", *(f"| {name} | {what} |" for name, what in rows)])


def written(readme: Path) -> str:
    """A README's text with its table as the files are now."""
    before, _, rest = readme.read_text().partition(START)
    return f"{before}{START}\n{table(readme)}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write all tables."""
    for readme in readmes():
        readme.write_text(written(readme))


if __name__ == "__main__":
    main()
