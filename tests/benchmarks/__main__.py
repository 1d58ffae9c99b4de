"""Run one benchmark, or all that were not run at this commit, and store what they measured."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests import benchmarks
from tests.benchmarks.parts import Parts, store, wanted
from tests.benchmarks.provenance import commit, machine, today
from tests.benchmarks.rows import Row

_FOLDER = Path(__file__).parent
_SHARED = {"rows", "parts", "blocks", "provenance", "quantile_references", "marginal_optimum", "bars", "__main__"}
_SHORTER = ("SECONDS_OF_LOAD", "SCALE", "LOADS", "DASHBOARDS", "PAIRS", "HISTORIES", "GAMES", "RELEASES")


def main(names: list[str]) -> int:
    """Run the named benchmarks; without a name, all without results of this commit. Returns the exit code."""
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in _SHARED)
    unknown = sorted(set(names) - set(known))
    console = Console()
    if unknown:
        console.print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    quick = bool(os.environ.get("QUICK"))
    for name in names or [one for one in known if quick or not _is_done(one)]:
        shorter = quick or any(map(os.environ.get, _SHORTER))
        module = importlib.import_module(f"tests.benchmarks.{name}")
        if parts := getattr(module, "PARTS", None):
            _run_parts(console, name, parts, quick=quick, shorter=shorter)
            continue
        begun = time.monotonic()
        rows: list[Row] = module.run(quick=quick)
        took = round(time.monotonic() - begun)
        _store(name, rows, took, partial=shorter or bool(os.environ.get("CASES")))
        _show(console, name, rows)
    return 0


def _run_parts(console: Console, name: str, parts: Parts, *, quick: bool, shorter: bool) -> None:
    """Each part is stored as soon as it is done, beside what the others have measured before."""
    for part in wanted(parts):
        measured = parts[part](quick)
        store(_file(name, partial=shorter), name, part, measured, list(parts))
        _show(console, f"{name}: {part}", measured.rows)


def _is_done(name: str) -> bool:
    """Whether all of a benchmark was measured at this commit. Code with changes has none."""
    file = _file(name, partial=False)
    if not file.exists():
        return False
    stored, parts = (
        json.loads(file.read_text()),
        getattr(importlib.import_module(f"tests.benchmarks.{name}"), "PARTS", None),
    )
    measured = [stored] if parts is None else [stored["parts"].get(part, {}) for part in parts]
    return all(one.get("commit") == commit() for one in measured) and not commit().endswith("-dirty")


def _store(name: str, rows: list[Row], took_s: int, partial: bool) -> None:
    """Write results/NAME.json; a quick run, or a part of one, goes beside it and replaces nothing."""
    document = {
        "benchmark": name,
        "commit": commit(),
        "machine": machine(),
        "date": today(),
        "took_s": took_s,
        "rows": [row.as_json() for row in rows],
    }
    _file(name, partial).write_text(json.dumps(document, indent=1) + "\n")


def _file(name: str, partial: bool) -> Path:
    folder = Path(".noisegate") / "benchmarks" if partial else _FOLDER / "results"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.json"


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
