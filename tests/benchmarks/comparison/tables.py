"""`make readme`: the measured comparison and the features, written into the README beside this file and into docs.

Everything in them follows from `results/comparison.json` and `features.toml`;
`tests/unit/benchmarks/comparison/test_tables.py` fails where the README says anything else.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from tests.benchmarks.comparison.kept import CASE
from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

_FOLDER = Path(__file__).parent
DOCS = _FOLDER.parents[2] / "docs" / "comparison.md"
README = _FOLDER / "README.md"
RESULTS = _FOLDER.parent / "results" / "comparison.json"
ONE_OWNER = _FOLDER.parent / "results" / "one_owner.json"
_POPULATION = "visits of 1,500 patients, epsilon 1"
MEASURED = ("<!-- measured: written by `make readme` -->", "<!-- end of measured -->")
FEATURES = ("<!-- features: written by `make readme` -->", "<!-- end of features -->")
LACKING = ("<!-- lacking: written by `make readme` -->", "<!-- end of lacking -->")
OURS_ALONE = ("<!-- ours alone: written by `make readme` -->", "<!-- end of ours alone -->")
_OURS, _UNKNOWN = "Noisegate", "unknown"
_HEADINGS = ("question", _OURS, *(peer.name for peer in PEERS))
SYSTEMS = (*(peer.name for peer in PEERS), "DuckDB privacy", "DPSQL+", "DP4SQL")
"""Whose features are compared."""


def features() -> Mapping[str, object]:
    """The data of the table of features."""
    return tomllib.loads((_FOLDER / "features.toml").read_text())


def text(written: str) -> str:
    """The README with both tables as they follow from the data."""
    stored, one_owner = (json.loads(path.read_text()) for path in (RESULTS, ONE_OWNER))
    measured = "\n".join((*measured_table(stored), "", *hindsight(stored, one_owner)))
    return replaced(replaced(written, MEASURED, measured), FEATURES, "\n".join(features_table(features())))


def page(written: str) -> str:
    """The page of docs with what others have, and what none of them was found to have."""
    data = features()
    lacking, ours = "\n".join(lacking_table(data)), "\n".join(ours_alone_table(data))
    return replaced(replaced(written, LACKING, lacking), OURS_ALONE, ours)


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
    """By feature and system: Noisegate's with a test or, if it lacks it, a file; the others' with their source."""
    yield from _head("feature", SYSTEMS)
    for row in _rows(data, "feature"):
        file, _, test = row["test"].partition("::")
        yield f"| {row['name']} | yes: [{test}](../../../{file}) | {' | '.join(_of_others(data, row))} |"
    for row in _rows(data, "lacking"):
        ours = f"{row['says']} ([source](../../../{row['where']}))"
        yield f"| {row['name']} | {ours} | {' | '.join(_of_others(data, row))} |"


def lacking_table(data: Mapping[str, object]) -> Iterator[str]:
    """What others have and Noisegate lacks, with the source of each."""
    yield "| others have, Noisegate lacks | who has it | Noisegate |"
    yield "| --- | --- | --- |"
    for row in _rows(data, "lacking"):
        having = zip(SYSTEMS, _of_others(data, row), strict=True)
        who = "; ".join(f"{name}: {said.removeprefix('yes: ')}" for name, said in having if said.startswith("yes"))
        yield f"| {row['name']} | {who} | {row['says']} ([source](../{row['where']})) |"


def ours_alone_table(data: Mapping[str, object]) -> Iterator[str]:
    """What Noisegate has and no other says that it has."""
    yield "| Noisegate has, no other was found to have | shown by | others |"
    yield "| --- | --- | --- |"
    for row in _rows(data, "feature"):
        others = list(zip(SYSTEMS, _of_others(data, row), strict=True))
        if any(said.startswith("yes") for _, said in others):
            continue
        file, _, test = row["test"].partition("::")
        told = "; ".join(f"{name}: {said}" for name, said in others if said != _UNKNOWN) or "unknown of all"
        yield f"| {row['name']} | [{test}](../{file}) | {told} |"


def main() -> int:
    """Rewrite the README and the page of docs; returns the exit code."""
    README.write_text(text(README.read_text()))
    DOCS.write_text(page(DOCS.read_text()))
    return 0


def _rows(data: Mapping[str, object], name: str) -> list[dict[str, Any]]:
    rows = data.get(name, [])
    assert isinstance(rows, list)
    return rows


def _of_others(data: Mapping[str, object], row: Mapping[str, Any]) -> list[str]:
    """What each other system says of a feature, with its source."""
    sources = data["sources"]
    assert isinstance(sources, dict)
    known = [row.get(name) for name in SYSTEMS]
    return [f"{one['says']} ([source]({sources[one['source']]}))" if one else _UNKNOWN for one in known]


def _head(first: str = "question", others: Sequence[str] = _HEADINGS[2:]) -> Iterator[str]:
    yield f"| {' | '.join((first, _OURS, *others))} |"
    yield f"|{' --- |' * (2 + len(others))}"


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
