"""The pages of the case studies say what was served, asked and measured."""

from __future__ import annotations

import copy
import tomllib

import pytest

from tests.benchmarks.case_studies.asked import as_table, relative_errors
from tests.benchmarks.case_studies.pages import DOCS, stored, written
from tests.benchmarks.case_studies.studies import STUDIES
from tests.benchmarks.case_studies.study import Study

of_each_study = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


@of_each_study
def test_a_page_says_what_was_measured(study: Study) -> None:
    """Where this fails: python -m tests.benchmarks.case_studies.pages."""
    page = (DOCS / study.page).read_text(encoding="utf-8")
    assert written(study, page, stored()) == page


@of_each_study
def test_another_figure_is_another_page(study: Study) -> None:
    page = (DOCS / study.page).read_text(encoding="utf-8")
    document = copy.deepcopy(dict(stored()))
    rows = document["rows"]
    assert isinstance(rows, list)
    for row in rows:
        if row["case"] == f"{study.name}: {study.questions[0].words}" and row["metric"] == "error, median":
            row["value"] = 3 * row["value"] + 1
    assert written(study, page, document) != page


@of_each_study
def test_what_is_asked_is_within_the_budget_that_is_granted(study: Study) -> None:
    budgets = tomllib.loads(study.policy)["budgets"]
    assert sum(question.epsilon for question in study.questions) <= budgets["analyst"]["epsilon"]
    assert budgets["analyst"]["epsilon"] <= budgets["dataset"]["epsilon"]


def test_the_error_is_of_all_groups_together() -> None:
    truth = as_table([("a", 1, 100.0), ("b", 2, 300.0)], 2)
    answer = as_table([("a", 1.0, 110.0), ("c", 3, 30.0)], 2)
    assert relative_errors(answer, truth) == pytest.approx([(10 + 300 + 30) / 400])
