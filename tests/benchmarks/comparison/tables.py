"""`make readme`: the measured comparison and the features, written into the README beside this file.

Everything in it follows from `results/comparison.json` and `features.toml`;
`tests/unit/benchmarks/comparison/test_tables.py` fails where the README says anything else.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap

from tests.benchmarks.comparison.kept import CASE
from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

_FOLDER = Path(__file__).parent
README = _FOLDER / "README.md"
RESULTS = _FOLDER.parent / "results" / "comparison.json"
ONE_OWNER = _FOLDER.parent / "results" / "one_owner.json"
_POPULATION = "visits of 1,500 patients, epsilon 1"
MEASURED = ("<!-- measured: written by `make readme` -->", "<!-- end of measured -->")
FEATURES = ("<!-- features: written by `make readme` -->", "<!-- end of features -->")
_OURS = "Noisegate"
_HEADINGS = ("question", _OURS, *(peer.name for peer in PEERS))


def features() -> Mapping[str, object]:
    """The data of the table of features."""
    return tomllib.loads((_FOLDER / "features.toml").read_text())


def text(written: str) -> str:
    """The README with both tables as they follow from the data."""
    stored, one_owner = (json.loads(path.read_text()) for path in (RESULTS, ONE_OWNER))
    measured = "\n".join((*measured_table(stored), "", *hindsight(stored, one_owner)))
    return replaced(replaced(written, MEASURED, measured), FEATURES, "\n".join(features_table(features())))


def measured_table(document: Mapping[str, object]) -> Iterator[str]:
    """By question and system: relative error, seconds, lines, bounds; or what happened instead."""
    cases = by_case(document)
    yield f"Measured by `make benchmark NAME=comparison` at {document['commit']} on {document['date']}."
    for kept in cases.pop(CASE, {}):
        yield from wrap(f"Kept: {kept}.", 118)
    yield ""
    yield from _head()
    for question, metrics in cases.items():
        cells = [_cell(name, metrics) for name in _HEADINGS[1:]]
        yield f"| {question} | {' | '.join(cells)} |"


def hindsight(document: Mapping[str, object], one_owner: Mapping[str, object]) -> Iterator[str]:
    """How accurate the best bound in hindsight is, and how near the private choice of a bound comes.

    Args:
      document: the stored comparison.
      one_owner: the stored `one_owner`.
    """
    visits, known = by_case(document)["visits"], by_case(one_owner)[_POPULATION]
    (least,) = (value for metric, value in known.items() if metric.startswith("any mechanism"))
    best = visits["the best bound in hindsight with all of epsilon: expected median error"]
    ours = visits["Noisegate's error, of the best bound's in hindsight"]
    yield from wrap(
        "For the visits, the best bound in hindsight with all of epsilon has an expected median error of "
        f"{best:.2g}%. Noisegate's is {ours:.2g} times that. A library's measured error may be smaller by chance. "
        "Add to these rows a few patients with equal contributions, of any size up to 2^32. No mechanism that is "
        f"private at epsilon 1 stays below {least:.2g} times for all such data (`make benchmark NAME=one_owner`). "
        "Only a user who knows the bound and states it reaches 1.2 times.",
        118,
    )


def features_table(data: Mapping[str, object]) -> Iterator[str]:
    """By feature and system: Noisegate's with its test, the others' with their source."""
    sources, rows = data["sources"], data["feature"]
    assert isinstance(sources, dict) and isinstance(rows, list)
    yield from _head("feature")
    for row in rows:
        file, _, test = row["test"].partition("::")
        cells = [f"yes: [{test}](../../../{file})"]
        for peer in PEERS:
            known = row.get(peer.name)
            cells.append(f"{known['says']} ([source]({sources[known['source']]}))" if known else "unknown")
        yield f"| {row['name']} | {' | '.join(cells)} |"


def main() -> int:
    """Rewrite the README; returns the exit code."""
    README.write_text(text(README.read_text()))
    return 0


def _head(first: str = "question") -> Iterator[str]:
    yield f"| {first} | {' | '.join(_HEADINGS[1:])} |"
    yield f"| {' | '.join('---' for _ in _HEADINGS)} |"


def _cell(name: str, metrics: Mapping[str, float]) -> str:
    """One system's answer in few words."""
    own = {metric: value for metric, value in metrics.items() if re.match(rf"{re.escape(name)}\b(?!')", metric)}
    for metric in own:
        if re.match(rf"{re.escape(name)} (refuses|fails):", metric):
            return metric.removeprefix(f"{name} ").replace("|", "/")
    (error,) = (value for metric, value in own.items() if "relative error" in metric)
    seconds = own[f"{name}: one release, median"]
    if name == _OURS:
        lines, bounds = own["Noisegate: lines with the policy"], own["Noisegate: ranges declared"]
        words = f"{lines:g} lines with the policy, {bounds:g} ranges declared, no bound on a person"
    else:
        lines, bounds = own[f"{name}: lines of its program"], own[f"{name}: bounds typed in"]
        words = f"{lines:g} lines, {bounds:g} bounds"
    said = f"{error:.2g}%, {seconds:.2g} s; {words}"
    wrong = [(metric, value) for metric, value in own.items() if metric.startswith(f"{name} silently wrong")]
    for metric, value in wrong:
        why = "answers something else" if "off by" in metric else f"one person moves it {value:.2g} times too far"
        return f"**silently wrong**: {why} ({said})"
    return said


if __name__ == "__main__":
    sys.exit(main())
