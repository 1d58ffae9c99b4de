"""`make readme`: every bar of every benchmark, held or missed, in tests/benchmarks/README.md.

Everything in it follows from the files in `results/` and from REASONS.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "README.md"

_HEAVY = "few people far above the others hold much of it, and noise that hides each of them hides all"
_UNSEEN = "the mark knows the noise alone, which may overlook as many people as the value has"
_SUMS = "adding up person by person takes longer than one sum"

REASONS: tuple[tuple[str, str, str], ...] = (
    (
        "budget",
        "times less",
        "windows that slide and first answers cannot be kept: see times less, if all else were free",
    ),
    ("budget", "within 5%", "some charts need more epsilon than one question may spend"),
    ("cached_answers", "", "the event loop, TLS and the client share two cores"),
    ("comparison", "", "the best of several bounds, chosen by hand with a look at the rows"),
    ("declared_bound", "", _HEAVY),
    ("engines", "scale 0.1", "a question's fixed cost is more than the plain statement"),
    ("engines", "lines", f"{_SUMS}: see sums by customer"),
    ("engines", "revenue", f"{_SUMS}: see sums by customer"),
    ("engines", "triangles", "the time goes to the solver, which both share"),
    ("everyday", "payments", _HEAVY),
    ("everyday", "sessions", _HEAVY),
    ("everyday", "hospital", "few releases decide the median"),
    ("grouped", "", "the settings for one owner were chosen since for fewer far errors (`one_owner`), at this price"),
    ("latency", "psql", "the session and the pool of threads hand over twice"),
    ("published", "waves", "the noisy choice between the two has a thirty-second of epsilon, and takes the other"),
    ("scalar", "of r2t", f"{_HEAVY}: the best fixed threshold holds nearly all"),
    ("scalar", "all generated", f"{_HEAVY}: see cells whose bar the best fixed threshold holds"),
    ("scale", "revenue", _SUMS),
    (
        "statistics",
        "of the oracle's",
        "the oracle takes, with a look at the rows, the threshold at which no bias is left",
    ),
    (
        "statistics",
        "people beyond",
        "an extreme is drawn so that people lie beyond it: most of the bar is that number",
    ),
    ("statistics", "by ward", "five quantiles divide epsilon, and a person may be in every ward"),
    ("statistics", "several owners each", "five quantiles divide epsilon, and two people own each row"),
    ("statistics", "error, median", _HEAVY),
    ("statistics", "ours, of", "the library gets the best of several bounds by hand"),
    ("storm", "memory", "Python's allocator does not return all of it"),
    ("trust", "off by more than half", "the far tail of noise that is just less wide than the value"),
    ("trust", "marked", _UNSEEN),
    ("trust", "largest", "one choice in 100,000 is far too large, and its interval says so"),
    ("unmarked", "marked", _UNSEEN),
    ("unmarked", "hospital", "of 4 releases a question: where one threshold is too small, all its rows are far"),
    ("unmarked", "payments", _HEAVY),
    ("unmarked", "sessions", _HEAVY),
    ("workload", "two keys", "no grid has less error than the questions by themselves"),
    (
        "workload",
        "worst question",
        "the plan has the least error of all questions together, and one pays for the others",
    ),
)
"""Benchmark, a part of the case or metric, and why such bars are missed; the first that fits is shown."""


@dataclass(frozen=True)
class _Stored:
    """What one benchmark has stored."""

    name: str
    about: str
    barred: Sequence[Mapping[str, Any]]

    @property
    def missed(self) -> list[Mapping[str, Any]]:
        return [row for row in self.barred if not row["held"]]


def page(documents: Sequence[Mapping[str, Any]]) -> str:
    """The page as Markdown.

    Args:
      documents: what benchmarks have stored, in order.
    """
    stored = [
        _Stored(one["benchmark"], _about(one), [row for row in one["rows"] if "held" in row]) for one in documents
    ]
    n_bars = sum(len(one.barred) for one in stored)
    n_held = n_bars - sum(len(one.missed) for one in stored)
    share = f"{100 * n_held / n_bars:.0f}%" if n_bars else "none"
    return "\n".join(
        [
            "# Benchmarks: every bar, held or missed",
            "",
            "`make benchmark` runs all benchmarks that were not run at this commit. If it is interrupted, it goes on",
            "where it stopped. `make benchmark NAME=x` runs one. `make readme` writes this page.",
            "",
            f"Of {n_bars:,} bars {n_held:,} are held, {share}. A benchmark without bars shows figures alone.",
            "[PAPERS.md](PAPERS.md) says which figures of the papers are reproduced.",
            "",
            "| benchmark | bars | held | measured at |",
            "| --- | ---: | ---: | --- |",
            *(
                f"| {one.name} | {len(one.barred)} | {len(one.barred) - len(one.missed)} | {one.about} |"
                for one in stored
            ),
            "",
            "## Missed",
            "",
            *_missed(stored),
            "",
        ]
    )


def _about(document: Mapping[str, Any]) -> str:
    """Commits and days: one, or those of the parts."""
    parts = document.get("parts")
    measured = (
        [document] if parts is None else [one for part in parts.values() for one in part.get("measured", [part])]
    )
    return ", ".join(dict.fromkeys(f"{one['commit']}, {one['date']}" for one in measured))


def _missed(stored: Sequence[_Stored]) -> Iterator[str]:
    yield "| benchmark | case | metric | value | bar | why |"
    yield "| --- | --- | --- | ---: | --- | --- |"
    for one in stored:
        for row in one.missed:
            bar = ", ".join(f"at {name} {row[name]:.4g}" for name in ("least", "most") if name in row)
            why = next((why for of, part, why in REASONS if of == one.name and part in _words(row)), "")
            yield f"| {one.name} | {row['case']} | {row['metric']} | {row['value']:.4g} | {bar} | {why} |"


def _words(row: Mapping[str, Any]) -> str:
    return f"{row['case']} {row['metric']}"


def stored_documents() -> list[dict[str, Any]]:
    """All stored results, by name."""
    return [json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))]


def main() -> int:
    """Write the page; returns the exit code."""
    PAGE.write_text(page(stored_documents()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
