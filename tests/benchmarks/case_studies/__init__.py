"""Four case studies: what analysts ask a custodian's policy for, again and again, and how far that is from the truth.

Each goes the whole way of a query over a DuckDB file under `.noisegate/benchmarks/case_studies`. Two are of rows that
are made from a seed; the social network and the site are of real data where that lies beside the project, and say so.
CASES="census;hospital" asks those alone, RELEASES=5 each question five times; a quick run is of few people, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from server.workers.pool import WorkerPool
from tests.benchmarks.case_studies.asked import StudyProxy, measured
from tests.benchmarks.case_studies.studies import STUDIES
from tests.benchmarks.case_studies.study import Study
from tests.benchmarks.comparison.ours import one_worker
from tests.benchmarks.rows import Row

_FOLDER = Path(".noisegate") / "benchmarks" / "case_studies"
_RELEASES, _QUICK_RELEASES = 10, 2
_QUICK_SHARE = 20


def run(quick: bool) -> list[Row]:
    """Every question of every study."""
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name]
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with one_worker() as workers:
        return [
            row for study in STUDIES if not wanted or study.name in wanted for row in _rows(study, workers, quick)
        ]


def _rows(study: Study, workers: WorkerPool, quick: bool) -> Iterator[Row]:
    file = _FOLDER / f"{study.name}.duckdb"
    people = study.people // _QUICK_SHARE if quick else study.people
    yield Row(study.name, study.write(file, people), people, "people")
    proxy = StudyProxy(study, file, workers)
    for question in study.questions:
        asked = int(os.environ.get("RELEASES", _QUICK_RELEASES if quick else _RELEASES))
        releases = [proxy.released(question) for _ in range(asked)]
        for metric, (value, unit) in measured(releases, proxy.truth(question), question).items():
            yield Row(f"{study.name}: {question.words}", metric, value, unit)
