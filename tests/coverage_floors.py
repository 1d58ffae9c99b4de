"""`make coverage`: coverage of each folder by lines and branches, against the floors that were recorded.

Reads coverage.py's report in JSON. A floor is a whole percentage, rounded down. Tests with random inputs do not take
the same branches each time, so that one line or branch fewer is forgiven in a folder; two are not.

Not counted are kernels, which run as machine code (`privacy/kernel.py`; pyproject.toml leaves them out by their
decorator). Not seen is what a worker process does, as it ends by being killed: the functions that workers call are
called by tests too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rich.console import Console
from rich.table import Column, Table

FLOORS = Path(__file__).with_suffix(".json")

Measure = Literal["lines", "branches"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

Floors = dict[str, dict[Measure, int]]
"""By folder, the least percentage of each measure."""


@dataclass(frozen=True)
class Part:
    """How many there are of something, and how many of them ran."""

    ran: int = 0
    there: int = 0

    def __add__(self, other: Part) -> Part:
        return Part(self.ran + other.ran, self.there + other.there)

    @property
    def percent(self) -> int:
        """Rounded down; 100 of nothing."""
        return self.ran * 100 // self.there if self.there else 100

    def reaches(self, floor: int) -> bool:
        """Whether it is at the floor, or one short of it."""
        return Part(min(self.ran + 1, self.there), self.there).percent >= floor


Reached = dict[str, dict[Measure, Part]]
"""By folder, what ran of the files that stand in it, those in its sub-folders apart."""


def reached(report: Mapping[str, Any]) -> Reached:
    """The folders of a report of `coverage json` with branches, in the order of their paths."""
    folders: Reached = {}
    for path, file in report["files"].items():
        summary = file["summary"]
        parts = folders.setdefault(Path(path).parent.as_posix(), dict.fromkeys(MEASURES, Part()))
        parts["lines"] += Part(summary["covered_lines"], summary["num_statements"])
        parts["branches"] += Part(summary["covered_branches"], summary["num_branches"])
    return {folder: parts for folder, parts in sorted(folders.items()) if parts["lines"].there}


def floors_of(folders: Reached) -> Floors:
    """What is recorded of a run: all that it reached."""
    return {folder: {measure: part.percent for measure, part in parts.items()} for folder, parts in folders.items()}


def shortfalls(folders: Reached, floors: Floors) -> list[str]:
    """Where a run stays below its floor, and where the floors are of other folders than those that there are."""
    moved = [
        f"{folder}: {'has no floor' if folder in folders else 'is no more'}; make coverage RECORD=1"
        for folder in sorted(folders.keys() ^ floors.keys())
    ]
    below = [
        f"{folder}: {part.ran} of {part.there} {measure} ran, {part.percent}%; floor: {floors[folder][measure]}%"
        for folder, parts in folders.items()
        for measure, part in parts.items()
        if folder in floors and not part.reaches(floors[folder][measure])
    ]
    return below + moved


def main(arguments: list[str]) -> int:
    """Show a report, then compare it with the floors, or record it as the floors; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="what `coverage json` wrote")
    parser.add_argument("--record", action="store_true", help=f"write {FLOORS.name} instead of comparing with it")
    chosen = parser.parse_args(arguments)
    folders = reached(json.loads(chosen.report.read_text()))
    floors: Floors = json.loads(FLOORS.read_text()) if FLOORS.exists() else {}
    console = Console()
    console.print(_table(folders, floors))
    if chosen.record:
        FLOORS.write_text(_one_line_each(floors_of(folders)))
        return 0
    faults = shortfalls(folders, floors)
    for fault in faults:
        console.print(fault, highlight=False, soft_wrap=True)
    return 1 if faults else 0


def _table(folders: Reached, floors: Floors) -> Table:
    table = Table(Column("folder", no_wrap=True))
    for measure in MEASURES:
        table.add_column(measure, justify="right", no_wrap=True)
        table.add_column("floor", justify="right")
    for folder, parts in folders.items():
        cells = []
        for measure, part in parts.items():
            floor = floors.get(folder, {}).get(measure)
            cells += [f"{part.ran}/{part.there} {part.percent}%", "-" if floor is None else f"{floor}%"]
        table.add_row(folder, *cells)
    return table


def _one_line_each(floors: Floors) -> str:
    """JSON in which a changed folder is a changed line."""
    lines = (f"  {json.dumps(folder)}: {json.dumps(least)}" for folder, least in sorted(floors.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
