"""The command line: what a call costs beside importing the libraries that it cannot do without, in one run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from statistics import median

from tests.benchmarks.rows import Row

_RUNS, _QUICK_RUNS = 10, 3
_CALLS = {
    "imports": ("-c", "import typer, httpx"),
    "noisegate --help": ("-m", "server.cli.main", "--help"),
    "noisegate budget": ("-m", "server.cli.main", "budget"),
}
_BARS = {"noisegate --help": 1.5, "noisegate budget": 2.5}


def run(quick: bool) -> list[Row]:
    """Medians of ten calls each, taken in turns; `noisegate budget` asks a proxy that is not there."""
    seconds: dict[str, list[float]] = {name: [] for name in _CALLS}
    for _ in range(_QUICK_RUNS if quick else _RUNS):
        for name, arguments in _CALLS.items():
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments],
                capture_output=True,
                check=False,
                env=os.environ | {"NOISEGATE_URL": "http://127.0.0.1:9", "NOISEGATE_KEY": "ng_nobody"},
            )
            seconds[name].append(time.perf_counter() - begun)
    medians = {name: median(taken) for name, taken in seconds.items()}
    rows = [Row(name, "median", value, "s") for name, value in medians.items()]
    return rows + [
        Row(name, "of importing typer and httpx", medians[name] / medians["imports"], "1", most=most)
        for name, most in _BARS.items()
    ]
