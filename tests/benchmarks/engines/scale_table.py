"""`make readme`: seconds and memory at scales 1, 4 and 10, and extrapolated to a billion rows, in docs/engines.md.

Everything in it follows from `tests/benchmarks/results/scale.json`; `tests/unit/test_scale_table.py` fails where the
page says anything else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.benchmarks.engines.cost_table import Figures, Line
from tests.benchmarks.rows import by_case
from tests.benchmarks.scale import ASKED, ENGINES, MAIN, PLAIN, PROCESSOR, PROXY, RATIO, ROWS, SCALES, TAKEN, WORKER
from tests.release.readme import replaced

RESULTS = Path(__file__).parents[1] / "results" / "scale.json"
PAGE = Path(__file__).parents[3] / "docs" / "engines.md"
MARKERS = ("<!-- scale: written by `make readme` -->", "<!-- end of scale -->")

_MILLION, _BILLION = 1e6, 1e9


def block(document: Mapping[str, object]) -> str:
    """The tables as Markdown.

    Args:
      document: what `make benchmark NAME=scale` has stored.
    """
    parts, found = document["parts"], by_case(document)
    assert isinstance(parts, Mapping), "by name"
    commits = ", ".join(dict.fromkeys(part["commit"] for part in parts.values()))
    machines = ", ".join(dict.fromkeys(part["machine"] for part in parts.values()))
    text = f"By `make benchmark NAME=scale` at {commits}, on {machines}:\nTPC-H as Parquet, with 6 GB for the engine."
    slopes = list(_slopes(found))
    missing = [
        f"{engine} at scale {scale}" for engine in ENGINES for scale in SCALES if not _has(found, engine, scale)
    ]
    lines = [_WHAT, "\n".join([*_HEADING, *slopes])] if slopes else []
    lines += [f"Not measured yet: {', '.join(missing)}."] if missing else []
    return "\n\n".join([text, "\n".join(_measured(found)), *lines])


_WHAT = (
    "As a line through the smallest and the largest scale. The numbers for a billion rows are **extrapolated**, not\n"
    "measured:"
)


_HEADING = (
    "| engine | question | plain, s per million rows | proxy, s per million rows | worker, MB per million rows | "
    "a billion rows: plain, minutes | proxy, minutes | worker, GB |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
)


def _measured(found: Figures) -> Iterator[str]:
    yield "| engine | question | million rows | plain, s | proxy, s | times plain | in processor time | worker, MB |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for engine, question in _asked(found):
        for case in _cases(found, engine, question):
            one = found[case]
            seconds = f"{one[PLAIN]:.2f} | {one[PROXY]:.2f} | {one[RATIO]:.2f} | {one[PROCESSOR]:.2f}"
            yield f"| {engine} | {question} | {one[ROWS] / _MILLION:.0f} | {seconds} | {_own_mb(one):.0f} |"


def _slopes(found: Figures) -> Iterator[str]:
    for engine, question in _asked(found):
        cases = [found[case] for case in _cases(found, engine, question)]
        if len(cases) < 2:
            continue
        lines = [Line.through([(one[ROWS], one[metric]) for one in cases]) for metric in (PLAIN, PROXY)]
        memory = [(one[ROWS], _own_mb(one)) for one in (cases[0], cases[-1])]
        each_mb = (memory[1][1] - memory[0][1]) / (memory[1][0] - memory[0][0])
        minutes = [(line.fixed_s + line.each_s * _BILLION) / 60 for line in lines]
        most_mb = memory[1][1] + max(0.0, each_mb) * (_BILLION - memory[1][0])
        shown = " | ".join(f"{line.each_s * _MILLION:.2f}" for line in lines)
        yield (
            f"| {engine} | {question} | {shown} | {each_mb * _MILLION:.2f} | "
            f"{minutes[0]:.0f} | {minutes[1]:.0f} | {most_mb / 1024:.1f} |"
        )


def _own_mb(one: Mapping[str, float]) -> float:
    """What the proxy's processes take in memory apart from the engine's buffers."""
    return one[WORKER] + one[MAIN] - one.get(TAKEN, 0.0)


def _asked(found: Figures) -> list[tuple[str, str]]:
    return [(engine, name) for engine in ENGINES for name in ASKED if any(_cases(found, engine, name))]


def _has(found: Figures, engine: str, scale: int) -> bool:
    return any(case.startswith(f"{engine}, scale {scale}: ") for case in found)


def _cases(found: Figures, engine: str, question: str) -> list[str]:
    return [
        case
        for scale in SCALES
        if (case := f"{engine}, scale {scale:g}: {question}") in found and PLAIN in found[case]
    ]


def main() -> int:
    """Rewrite the block between the markers; returns the exit code."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(text, MARKERS, block(json.loads(RESULTS.read_text()))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
