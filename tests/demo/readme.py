"""`make readme`: run the demonstration and write what it printed, and the benchmark's figures, into README.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

DEMO = ("<!-- demo output: written by `make readme` -->", "<!-- end of demo output -->")
FIGURES = ("<!-- benchmark figures: written by `make readme` -->", "<!-- end of benchmark figures -->")
_RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "demo.json"


def main() -> int:
    """Rewrite the blocks between the markers; returns the exit code."""
    readme = Path("README.md")
    text = readme.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo"],
        env={**os.environ, "DEMO_EXIT": "1", "COLUMNS": "116"},
        capture_output=True,
        text=True,
        check=True,
    )
    text = replaced(text, DEMO, f"```text\n{_without_trailing_blanks(done.stdout)}\n```")
    if _RESULTS.exists():
        text = replaced(text, FIGURES, figures(json.loads(_RESULTS.read_text())))
    readme.write_text(text, encoding="utf-8")
    return 0


def replaced(text: str, markers: tuple[str, str], block: str) -> str:
    """`text` with `block` between the markers.

    Raises: ValueError when the markers are not there once each, in order.
    """
    begin, end = markers
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new, count = pattern.subn(lambda _: f"{begin}\n{block}\n{end}", text)
    if count != 1:
        raise ValueError(f"README.md lacks the markers {begin} {end}")
    return new


def figures(document: dict[str, object]) -> str:
    """The stored benchmark as a table of questions."""
    rows = document["rows"]
    assert isinstance(rows, list)
    cases: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        cases[row["case"]][row["metric"]] = row["value"]
    lines = [
        "| question | runs | median error | 95th percentile | largest | time, median |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case, metrics in cases.items():
        if "runs" in metrics:
            errors = (metrics[f"relative error, {name}"] for name in ("median", "95th percentile", "largest"))
            shown = " | ".join(f"{error:.2%}" for error in errors)
            lines.append(f"| {case} | {metrics['runs']:.0f} | {shown} | {metrics['time, median']:.2f} s |")
    return "\n".join(lines)


def _without_trailing_blanks(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.strip().splitlines())


if __name__ == "__main__":
    sys.exit(main())
