"""`make readme`: errors of the published systems beside our default, written into privacy/papers/README.md.

Everything in it follows from `results/published.json`, `scalar.json` and `vector.json`;
`tests/unit/test_published_table.py` fails where the README says anything else.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

RESULTS = Path(__file__).parents[1] / "results"
README = Path(__file__).parents[3] / "privacy" / "papers" / "README.md"
MARKERS = ("<!-- errors: written by `make readme` -->", "<!-- end of errors -->")
BENCHMARKS = ("published", "scalar", "vector")

Figures = Mapping[str, Mapping[str, float]]
"""By case and metric without the number of runs, what was measured."""

_TRIANGLES, _Q5 = "Deezer HU+RO, triangles, eps 1, q 1/1", "TPC-H Q5, scale 1, q 1/1"
_ON_TRIANGLES = {
    "simple sampling": "simple_sampling",
    "sample-and-explore, k units": "sample_and_explore",
    "DP-S4S, shared budgets": "s4s",
}
_ON_Q5 = {
    "DP-S4S, vectors, as published": "s4s_vector as published",
    "DP-S4S, vectors, sound": "s4s_vector",
    "PMSJA, as published": "pmsja as published",
    "PMSJA, sound": "pmsja",
}
_COUNTS = {
    "LPA": "lpa",
    "LPA, negatives set to 0": "lpa, cut at 0",
    "FPA, best rho (not private)": "fpa, best rho (not private)",
    "GS-R": "gs_r",
    "GS-S, rows": "gs_s, row",
    "GS-S, columns": "gs_s, column",
    "GS, as published": "gs as published",
    "GS": "gs",
}
_BAR = 1.05
_INPUTS = ("badges", "votes per post", "genres")
_SUBGRAPHS = {
    "Laplace for GS": "laplace",
    "R2T": "r2t",
    "NT": "nt",
    "SDE": "sde",
    "RM": "rm",
    "sample-and-explore, 64 samples": "sample and explore, k = 64",
    "simple sampling, 1/4 of tuples": "simple sampling, 1/4 of tuples",
}


def block(documents: Mapping[str, Mapping[str, object]]) -> str:
    """The errors as Markdown.

    Args:
      documents: by benchmark of BENCHMARKS, what `make benchmark` has stored.
    Raises: KeyError for a document without the figures.
    """
    found = {name: _figures(documents[name]) for name in BENCHMARKS}
    commits = ", ".join(f"`{name}` at {_commit(documents[name])}" for name in BENCHMARKS)
    parts = [
        f"Figures of `make benchmark` ({commits}).",
        "\n".join(_scalar_and_vector(found)),
        "\n".join(_counts(found["published"])),
        "\n".join(_subgraphs(found["published"])),
        "\n".join(_centres(found["published"])),
    ]
    return "\n\n".join(parts)


def _commit(document: Mapping[str, Any]) -> str:
    """Of a document in parts, that of the part about the papers' data."""
    return str(document["parts"]["published"]["commit"] if "parts" in document else document["commit"])


def stored() -> dict[str, Mapping[str, object]]:
    """The stored documents of BENCHMARKS."""
    return {name: json.loads((RESULTS / f"{name}.json").read_text()) for name in BENCHMARKS}


def main() -> int:
    """Rewrite the block between the markers; returns the exit code."""
    text = README.read_text(encoding="utf-8")
    README.write_text(replaced(text, MARKERS, block(stored())), encoding="utf-8")
    return 0


def _figures(document: Mapping[str, object]) -> Figures:
    named = by_case(document)
    return {
        case: {re.sub(r" of \d+ runs$", "", metric): value for metric, value in of.items()}
        for case, of in named.items()
    }


def _scalar_and_vector(found: Mapping[str, Figures]) -> Iterator[str]:
    yield "| system | question | its error | default's |"
    yield "| --- | --- | --- | --- |"
    triangles, q5 = found["scalar"][_TRIANGLES], found["vector"][_Q5]
    for label, name in _ON_TRIANGLES.items():
        its, ours = (triangles[f"{one}, middle 60%"] for one in (name, "gem"))
        yield f"| {label} | {_TRIANGLES.split(',')[0]}, triangles, epsilon 1 | {its:.2g}% | {ours:.2g}% |"
    for label, name in _ON_Q5.items():
        its, ours = (q5[f"{one}, L2 error, middle 60%"] for one in (name, "default"))
        yield f"| {label} | TPC-H Q5 by nation | {its:.2g}% | {ours:.2g}% |"


def _counts(found: Figures) -> Iterator[str]:
    yield "Counts of people by many keys, mean absolute error (and mean relative error) at epsilon ln 2:"
    yield ""
    yield f"| system | {' | '.join(_INPUTS)} |"
    yield f"| --- |{' --- |' * len(_INPUTS)}"
    ours = {
        "default (`group_lp`)": "default (group_lp)",
        "default with a delta (`l2_clip`)": "default with delta 1e-6 (l2_clip)",
    }
    for label, name in {**_COUNTS, **ours}.items():
        cells = []
        for one in _INPUTS:
            metrics = found[f"{one}, epsilon ln 2"]
            cells.append(f"{_number(metrics[f'{name}, MAE'])} ({_number(metrics[f'{name}, MRE'])}%)")
        yield f"| {label} | {' | '.join(cells)} |"
    ratio = "gs / the better of lpa and fpa, MAE"
    yield ""
    for keys in ("of the data", "20,000 keys", "256 keys"):
        ratios = {
            case: metrics[ratio]
            for case, metrics in found.items()
            if ratio in metrics and (keys in case or (keys == "of the data" and "keys" not in case))
        }
        where = keys if keys == "of the data" else f"made up, of {keys}"
        worse = [case.replace(f", {keys}", "") for case, one in ratios.items() if one > _BAR]
        yield (
            f"* GS against the better of LPA and FPA, {len(ratios)} inputs {where}: "
            f"{_number(min(ratios.values()))} to {_number(max(ratios.values()))} times the mean absolute error, "
            f"more than {_BAR:g} times it for {'; '.join(worse) or 'none'}."
        )


def _subgraphs(found: Figures) -> Iterator[str]:
    (at,) = [case for case in found if case.startswith("triangles of ")]
    metrics = found[at]
    there, ours = f"{metrics['occurrences']:,.0f}", _trimmed(metrics, "default (gem)")
    yield f"Counts of {at}, of which there are {there}; the default's error is {ours}:"
    yield ""
    yield "| system | its error | time |"
    yield "| --- | --- | --- |"
    for label, name in _SUBGRAPHS.items():
        yield f"| {label} | {_trimmed(metrics, name)} | {metrics[f'{name}, time']:.2g} s |"


def _trimmed(metrics: Mapping[str, float], name: str) -> str:
    return f"{_number(metrics[f'{name}, middle 60%'])}%"


def _number(value: float) -> str:
    """Three digits, or whole."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _centres(found: Figures) -> Iterator[str]:
    yield "Mean squared error of the best sample over that of the whole population; below 1 sampling gains:"
    yield ""
    epsilons = list(dict.fromkeys(case.split("epsilon ")[1] for case in found if case.startswith("median, ")))
    yield f"| | {' | '.join(f'epsilon {epsilon}' for epsilon in epsilons)} |"
    yield f"| --- |{' --- |' * len(epsilons)}"
    for kind in ("median", "mean"):
        for population in ("lognormal", "bimodal"):
            cells = [
                _number(found[f"{kind}, {population}, epsilon {epsilon}"]["best sample / whole, MSE"])
                for epsilon in epsilons
            ]
            yield f"| {kind}, {population} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
