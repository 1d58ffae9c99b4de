"""Five questions of TPC-H in two tables, for docs: what was measured here, and what other authors publish."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.benchmarks.rows import by_case

_PUBLISHED = Path(__file__).with_name("published.toml")
_SYSTEMS = ("Noisegate", "OpenDP by hand", "OpenDP practitioner", "OpenDP by quantile")
_HUGE = 1_000


def tpch(document: Mapping[str, object]) -> str:
    """Both tables, and who has the smallest error.

    Args:
      document: the stored benchmark `tpch_peers`.
    """
    cases = by_case(document)
    measured = cases.pop("TPC-H")
    errors = {question: [_error(name, metrics) for name in _SYSTEMS] for question, metrics in cases.items()}
    scale, customers = measured["scale"], measured["customers"]
    lines = [
        f"Measured at scale {scale:g}, which has {customers:,.0f} customers.",
        "",
        *_table(("measured", *_SYSTEMS), errors),
        "",
        *_smallest(errors),
        "",
        *_table(*published(scale)),
    ]
    return "\n".join(lines)


def published(scale: float) -> tuple[tuple[str, ...], dict[str, list[float | None]]]:
    """The headings and rows of what authors publish.

    Noise with a fixed bound is inversely proportional to the number of customers. So the error of a mode that adds
    only noise is also shown as it would be at `scale`, which is computed.
    """
    data = tomllib.loads(_PUBLISHED.read_text())
    headings, columns = ["published, not run"], []
    for mode in data["mode"]:
        errors = {question: median(runs) for question, runs in mode["runs"].items()}
        name = f"[`{mode['name']}`]({data['sources'][mode['source']]})"
        headings.append(f"{name}, scale {data['scale']}, protects a {mode['protects']}")
        columns.append(errors)
        if mode.get("noise_only"):
            headings.append(f"`{mode['name']}`, computed for scale {scale:g}")
            columns.append({question: error * data["scale"] / scale for question, error in errors.items()})
    return tuple(headings), {question: [column[question] for column in columns] for question in columns[0]}


def _error(name: str, metrics: Mapping[str, float]) -> float | None:
    """None where the system has no answer."""
    found = [value for metric, value in metrics.items() if metric.startswith(f"{name}: median error")]
    return found[0] if found else None


def _table(headings: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{' --- |' * len(headings)}"
    for question, errors in rows.items():
        yield f"| {question} | {' | '.join(map(_shown, errors))} |"


def _shown(error: float | None) -> str:
    if error is None:
        return "-"
    return f"over {_HUGE:,}%" if error > _HUGE else f"{error:.2g}%" if error < 10 else f"{error:.0f}%"


def _smallest(errors: Mapping[str, Sequence[float | None]]) -> Iterator[str]:
    """Who has the smallest measured error, question by question."""
    best: dict[str, list[str]] = {name: [] for name in _SYSTEMS}
    for question, row in errors.items():
        known = [(error, name) for error, name in zip(row, _SYSTEMS, strict=True) if error is not None]
        best[min(known)[1]].append(question)
    for name, questions in best.items():
        yield f"* {name} has the smallest error for: {', '.join(questions) or 'none'}."
    ours, found = _SYSTEMS.index("Noisegate"), _SYSTEMS.index("OpenDP by quantile")
    nearer = [question for question, row in errors.items() if (row[ours] or 0) < (row[found] or float("inf"))]
    yield f"* If nobody states a bound, Noisegate has the smaller error for: {', '.join(nearer) or 'none'}."
