"""The case studies of docs/, executed: every question of their pages, of fewer people, by the policies shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import PlannerError
from server.workers.pool import WorkerPool
from tests.benchmarks.case_studies.asked import StudyProxy, as_table
from tests.benchmarks.case_studies.studies import STUDIES
from tests.benchmarks.case_studies.study import Asked, Study

PEOPLE = 2_000


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_each_question_of_a_page_is_answered_at_its_price(study: Study, workers: WorkerPool, tmp_path: Path) -> None:
    file = tmp_path / f"{study.name}.duckdb"
    assert "made from a seed" in study.write(file, PEOPLE)
    proxy = StudyProxy(study, file, workers)
    for question in study.questions:
        response = proxy.released(question).response
        assert response.epsilon == pytest.approx(question.epsilon), question.words
        answered, truth = as_table(response.rows, question.keys), proxy.truth(question)
        assert truth, "a question whose rows are there"
        found = truth.keys() & answered.keys()
        assert found == truth.keys() or "nobody has listed them" in question.words, question.words


@pytest.mark.parametrize("study", [study for study in STUDIES if study.refused], ids=lambda study: study.name)
def test_what_a_page_calls_refused_is_refused_free(study: Study, workers: WorkerPool, tmp_path: Path) -> None:
    file = tmp_path / f"{study.name}.duckdb"
    study.write(file, PEOPLE)
    proxy = StudyProxy(study, file, workers)
    for refused in study.refused:
        with pytest.raises(PlannerError):
            proxy.released(Asked(refused.words, refused.sql, 0.5))
    assert proxy.ledger.dataset == 0
