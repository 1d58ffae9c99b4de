"""`make readme`: what the demonstration printed and what benchmarks stored, written into README.md and docs/.

Everything but the demonstration's output follows from `tests/benchmarks/results/`; where a page says anything else,
`tests/unit/test_docs.py` fails.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from server.demo.demonstration import QUERIES
from tests.benchmarks.comparison.short_table import libraries
from tests.benchmarks.comparison.tpch_table import tpch
from tests.benchmarks.rows import by_case

ROOT = Path(__file__).parents[2]
_FIRST_LINE = "TPC-H and a social graph"
DEMO = ("<!-- demo output: written by `make readme` -->", "<!-- end of demo output -->")
RESULTS = ROOT / "tests" / "benchmarks" / "results"

Document = Mapping[str, object]
"""What a benchmark has stored."""

_FIVE = {
    "triangles": "How many triples of customers know one another?",
    "orders": "How many orders are there?",
    "revenue": "How much revenue did they bring?",
    "Q5 join": "How much of that did customers buy from suppliers of their own nation?",
    "by nation": "How much revenue did each nation bring? (of 25 nations, the one with the median error)",
}
"""The questions of the demonstration that the README shows, in words."""

_IN_FULL = "triangles"
"""That which it shows in SQL."""

_MECHANISMS = {
    "gem": "Noisegate",
    "r2t": "R2T",
    "s4s": "DP-S4S",
    "sample_and_explore": "sample-and-explore",
    "simple_sampling": "simple sampling",
}
_TOTALS = {
    "Deezer HU+RO, edges, eps 1, q 1/1": "edges of a social graph (Deezer, Hungary and Romania)",
    "Deezer HU+RO, triangles, eps 1, q 1/1": "triangles of it",
    "Deezer HU+RO, 2-paths, eps 1, q 1/1": "2-paths of it",
    "Enron, edges, eps 1, q 1/1": "edges of a graph of e-mails (Enron)",
    "Enron, triangles, eps 1, q 1/1": "triangles of it",
    "TPC-H Q3 total, eps 1, q 1/1": "TPC-H Q3, total",
    "TPC-H Q5 total, eps 1, q 1/1": "TPC-H Q5, total: two kinds of people at once",
}
_LARGE = 1e8
_SMALLER = 0.95


def main() -> int:
    """Rewrite the blocks between the markers; returns the exit code."""
    page = ROOT / "docs" / "answers.md"
    done = subprocess.run(
        [sys.executable, "-m", "server.cli.main", "demo", "--exit"],
        env={**os.environ, "COLUMNS": "116"},
        capture_output=True,
        text=True,
        check=True,
    )
    output = f"```text\n{_shown(done.stdout)}\n```"
    page.write_text(replaced(page.read_text(encoding="utf-8"), DEMO, output), encoding="utf-8")
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
    return 0


def written() -> dict[Path, str]:
    """Each page that holds stored figures, with the figures as they are stored."""
    pages: dict[Path, str] = {}
    for name, markers, benchmark, block in BLOCKS:
        path = ROOT / name
        text = pages.get(path) or path.read_text(encoding="utf-8")
        stored = json.loads((RESULTS / f"{benchmark}.json").read_text(encoding="utf-8"))
        pages[path] = replaced(text, markers, block(stored))
    return pages


def replaced(text: str, markers: tuple[str, str], block: str) -> str:
    """`text` with `block` between the markers.

    Raises: ValueError when the markers are not there once each, in order.
    """
    begin, end = markers
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new, count = pattern.subn(lambda _: f"{begin}\n{block}\n{end}", text)
    if count != 1:
        raise ValueError(f"the page lacks the markers {begin} {end}")
    return new


def errors_of_demo(document: Document) -> str:
    """The demonstration, asked again and again: a row per question."""
    lines = [
        "| question | runs | median error | 95th percentile | largest | time, median |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case, metrics in by_case(document).items():
        if "runs" in metrics:
            errors = (metrics[f"relative error, {name}"] for name in ("median", "95th percentile", "largest"))
            shown = " | ".join(f"{error:.2%}" for error in errors)
            lines.append(f"| {case} | {metrics['runs']:.0f} | {shown} | {metrics['time, median']:.2f} s |")
    return "\n".join(lines)


def five_answers(document: Document) -> str:
    """One question of the demonstration in SQL, and five in words, each with one answer."""
    cases, sql = by_case(document), {query.name: query.sql for query in QUERIES}
    lines = [_FIVE[_IN_FULL], "", f"```sql\n{sql[_IN_FULL]}\n```", ""]
    lines += ["| question | answer at epsilon 1 | 95% interval | true value |", "| --- | --- | --- | --- |"]
    for name, words in _FIVE.items():
        found = cases[name]
        answer, low, high, truth = (_number(found[metric]) for metric in ("answer", "low", "high", "truth"))
        lines.append(f"| {words} | {answer} | {low} to {high} | {truth} |")
    return "\n".join(lines)


def mechanisms(document: Document) -> str:
    """Errors of one total by each mechanism, at the 95th percentile."""
    lines = [f"| total at epsilon 1 | {' | '.join(_MECHANISMS.values())} |", f"| --- |{' --- |' * len(_MECHANISMS)}"]
    cases = by_case(document)
    for case, words in _TOTALS.items():
        errors = " | ".join(f"{cases[case][f'{name}, 95th percentile']:.2g}%" for name in _MECHANISMS)
        lines.append(f"| {words} | {errors} |")
    return "\n".join(lines)


def sizes(document: Document) -> str:
    """What an installation weighs, and how long it takes."""
    cases = by_case(document)
    slim, stripped = cases["slim"]["size"], cases["slim, stripped"]["size"]
    heaviest = sorted(
        ((found["size"], case.removeprefix("slim: ")) for case, found in cases.items() if case.startswith("slim: ")),
        reverse=True,
    )
    named = []
    for size, name in heaviest[:5]:
        least = cases.get(f"slim, stripped: {name}", {}).get("size", size)
        named.append(f"{name} {size:.0f}" + (f" ({least:.0f} stripped)" if least < _SMALLER * size else ""))
    text = (
        f"An installation without extras takes {slim:.0f} MB, not counting Python's bytecode. The largest packages "
        f"are {', '.join(named)}. It takes {stripped:.0f} MB if the libraries are stripped, as below. "
    )
    if "embedded, stripped" in cases:
        embedded = cases["embedded, stripped"]["size"]
        text += f"With the extra `embedded` (a PostgreSQL), also stripped, it takes {embedded:.0f} MB. "
    text += f"On the measured machine (`make benchmark NAME=install`: {document['machine']}) pip took "
    text += f"{cases['slim']['pip install']:.0f} s"
    if "demo" in cases:
        demo = cases["demo"]
        first, second = demo["first run"], demo["second run"]
        text += f". The demonstration took {first:.0f} s the first time and {second:.0f} s the second"
        if "an own question" in demo:
            text += f", and one more question {demo['an own question']:.1f} s"
    return f"{text}."


def _number(value: float) -> str:
    return f"{value / 1e6:,.1f} million" if abs(value) >= _LARGE else f"{value:,.0f}"


def _shown(output: str) -> str:
    """A demonstration's output; without what is said before it, once for a machine."""
    shown = output[output.index(_FIRST_LINE) :]
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `make readme` -->", f"<!-- end of {name} -->"


BLOCKS: tuple[tuple[str, tuple[str, str], str, Callable[[Document], str]], ...] = (
    ("README.md", _markers("answers"), "five_answers", five_answers),
    ("README.md", _markers("libraries"), "comparison", libraries),
    ("docs/answers.md", _markers("benchmark figures"), "demo", errors_of_demo),
    ("docs/comparison.md", _markers("mechanisms"), "scalar", mechanisms),
    ("docs/comparison.md", _markers("libraries"), "comparison", libraries),
    ("docs/comparison.md", _markers("tpch"), "tpch_peers", tpch),
    ("docs/operating.md", _markers("sizes"), "install", sizes),
)
"""By page: what stands between which markers, and the stored benchmark that it is made of."""


if __name__ == "__main__":
    sys.exit(main())
