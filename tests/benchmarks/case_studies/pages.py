"""`make readme`: the policies, questions and measured figures of the case studies, written into their pages in docs/.

Policies and questions are those that were asked; figures follow from `results/case_studies.json`. Where a page says
anything else, `tests/unit/benchmarks/test_case_study_pages.py` fails.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.benchmarks.case_studies.studies import STUDIES
from tests.benchmarks.case_studies.study import Study
from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = Path(__file__).parents[1] / "results" / "case_studies.json"
POLICY = ("<!-- policy: written by `make readme` -->", "<!-- end of policy -->")
FIGURES = ("<!-- figures: written by `make readme` -->", "<!-- end of figures -->")
QUESTIONS = ("<!-- questions: written by `make readme` -->", "<!-- end of questions -->")

_HELD = "values whose interval holds the truth"
_ALL, _SOME = 99.5, 0.5


def written(study: Study, page: str, document: Mapping[str, object]) -> str:
    """The page with what was served, asked and measured.

    Raises: KeyError for a document in which a question of the study was not measured.
    """
    page = replaced(page, POLICY, f"```toml\n{study.policy}```")
    page = replaced(page, FIGURES, "\n".join(_figures(study, document)))
    return replaced(page, QUESTIONS, "\n".join(_questions(study)))


def stored() -> Mapping[str, object]:
    """What `make benchmark NAME=case_studies` has stored."""
    document: Mapping[str, object] = json.loads(RESULTS.read_text())
    return document


def main() -> int:
    """Rewrite the pages; returns the exit code."""
    for study in STUDIES:
        page = DOCS / study.page
        page.write_text(written(study, page.read_text(encoding="utf-8"), stored()), encoding="utf-8")
    return 0


def _figures(study: Study, document: Mapping[str, object]) -> Iterator[str]:
    found = by_case(document)
    ((data, _),) = found[study.name].items()
    releases = min(found[f"{study.name}: {question.words}"]["releases"] for question in study.questions)
    how = f"{releases:.0f} releases of each answer, by `make benchmark NAME=case_studies` at {document['commit']}"
    yield f"Measured on {data}: {how}."
    yield ""
    yield "| | question | ε | rows | error, median | 95th percentile | truth in the interval | marked |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for place, question in enumerate(study.questions, 1):
        of = found[f"{study.name}: {question.words}"]
        cells = (
            f"{place}",
            f"{question.words}{_one_answer(of)}",
            f"{of['epsilon']:g}{' and a δ' if of['delta'] else ''}",
            f"{of['rows']:,.0f}",
            _percent(of["error, median"]),
            _percent(of["error, 95th percentile"]),
            f"{of[_HELD]:.0f}%" if _HELD in of else "none",
            _marked(of),
        )
        yield f"| {' | '.join(cells)} |"
    spent = sum(question.epsilon for question in study.questions)
    granted = tomllib.loads(study.policy)["budgets"]["analyst"]["epsilon"]
    yield ""
    yield f"All of them cost an analyst ε {spent:g} of {granted:g}; asked again, nothing."


def _one_answer(of: Mapping[str, float]) -> str:
    if "one answer" not in of:
        return ""
    text = f"<br>one answer {_number(of['one answer'])}"
    if "its interval, low" in of:
        text += f" ({_number(of['its interval, low'])} to {_number(of['its interval, high'])})"
    return f"{text}, the truth {_number(of['the truth'])}"


def _marked(of: Mapping[str, float]) -> str:
    """Which share of the rows carries a mark, in words."""
    words = []
    for mark in ("clipped", "low_precision"):
        share = of[f"rows marked {mark}"]
        if share > _SOME:
            words.append(f"`{mark}`: all" if share > _ALL else f"`{mark}`: {share:.0f}%")
    return ", ".join(words)


def _questions(study: Study) -> Iterator[str]:
    for place, question in enumerate(study.questions, 1):
        yield f"{place}. {question.words}"
        yield ""
        yield from _sql(question.sql)
    for refused in study.refused:
        yield f"Refused: {refused.words}"
        yield ""
        yield from _sql(f"-- refused\n{refused.sql}")


def _sql(sql: str) -> Iterator[str]:
    yield f"```sql\n{sql}\n```"
    yield ""


def _percent(value: float) -> str:
    return f"{value:.1f}%" if value >= 1 else f"{value:.2g}%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
