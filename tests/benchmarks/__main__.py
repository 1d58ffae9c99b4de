"""Run one benchmark, or all of them, and store what they measured."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests import benchmarks
from tests.benchmarks.rows import Row

_FOLDER = Path(__file__).parent
_SHARED = {"rows", "quantile_references", "__main__"}
_SHORTER = ("CASES", "SECONDS_OF_LOAD", "SCALE", "LOADS", "DASHBOARDS", "PAIRS", "HISTORIES")


def main(names: list[str]) -> int:
    """Run the named benchmarks (all without a name); returns the exit code."""
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in _SHARED)
    unknown = sorted(set(names) - set(known))
    console = Console()
    if unknown:
        console.print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    quick = bool(os.environ.get("QUICK"))
    for name in names or known:
        rows: list[Row] = importlib.import_module(f"tests.benchmarks.{name}").run(quick=quick)
        _store(name, rows, partial=quick or any(map(os.environ.get, _SHORTER)))
        _show(console, name, rows)
    return 0


def _store(name: str, rows: list[Row], partial: bool) -> None:
    """Write results/NAME.json; a quick run, or a part of one, goes beside it and replaces nothing."""
    document = {
        "benchmark": name,
        "commit": _commit(),
        "machine": _machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "rows": [row.as_json() for row in rows],
    }
    folder = Path(".noisegate") / "benchmarks" if partial else _FOLDER / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _show(console: Console, name: str, rows: list[Row]) -> None:
    table = Table(title=f"benchmark {name}", title_justify="left")
    barred = [row for row in rows if row.held is not None]
    for heading in ("case", "metric", "value", "unit", *(("bar", "held") if barred else ())):
        table.add_column(heading, justify="right" if heading == "value" else "left")
    for row in rows:
        verdict = {None: "", True: "yes", False: "[bold red]NO[/]"}[row.held]
        bar = (row.bar or "", verdict) if barred else ()
        table.add_row(row.case, row.metric, f"{row.value:.4g}", row.unit, *bar)
    console.print(table)
    if barred:
        console.print(f"{sum(bool(row.held) for row in barred)} of {len(barred)} bars held")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
