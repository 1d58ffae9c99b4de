"""The data follow from their seed, a person can go, and questions are answered by the policy as it stands."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.backends.duckdb import DuckdbBackend
from tests.benchmarks.comparison.data import DATA_SETS, NAMESPACE, DataSet, exact, write
from tests.benchmarks.comparison.questions import QUESTIONS, Question

PEOPLE = 100


@pytest.mark.parametrize("data", DATA_SETS.values(), ids=lambda data: data.name)
def test_the_rows_follow_from_the_seed(data: DataSet, tmp_path: Path) -> None:
    write(data, tmp_path / "once", PEOPLE)
    write(data, tmp_path / "again", PEOPLE)
    for table in data.tables:
        once = (tmp_path / "once" / f"{table}.csv").read_text()
        assert once == (tmp_path / "again" / f"{table}.csv").read_text()
        assert len(once.splitlines()) > 1


@pytest.mark.parametrize("data", DATA_SETS.values(), ids=lambda data: data.name)
def test_a_person_goes_with_all_rows_and_nobody_else_s(data: DataSet, tmp_path: Path) -> None:
    gone = 7
    whole, without = write(data, tmp_path / "whole", PEOPLE), write(data, tmp_path / "without", PEOPLE, gone)
    for table, owned in data.owners.items():
        theirs = owned.replace("?", str(gone))
        kept = exact(whole, f"SELECT * FROM {table} WHERE NOT ({theirs}) ORDER BY ALL")
        assert exact(without, f"SELECT * FROM {table} ORDER BY ALL") == kept
    table, _ = data.person
    ((before,),), ((after,),) = (exact(file, f"SELECT count(*) FROM {table}") for file in (whole, without))
    assert before == int(str(after)) + 1


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.name)
def test_the_policy_as_it_is_declared_suffices(question: Question, tmp_path: Path) -> None:
    file = write(question.data, tmp_path, PEOPLE)
    policy = parse_policy(question.data.policy_text)
    schema = with_declared_keys(DuckdbBackend(file, NAMESPACE).schema(), policy)
    validate(policy, schema)
    assert bind(parse(question.sql), schema, policy)
    assert exact(file, question.truth)


def test_no_policy_bounds_what_a_person_adds() -> None:
    for data in DATA_SETS.values():
        assert not {"fanout", "global_sensitivity", "groups_per_unit"} & set(
            data.policy_text.replace("=", " ").split()
        )


def test_who_departs_is_somebody(tmp_path: Path) -> None:
    for question in QUESTIONS.values():
        assert bool(question.departs) != question.one_owner
        if question.departs:
            ((key,),) = exact(write(question.data, tmp_path, PEOPLE), question.departs)
            table, column = question.data.person
            assert exact(tmp_path / f"{question.data.name}.duckdb", f"SELECT 1 FROM {table} WHERE {column} = {key}")


def test_exact_reads_only(tmp_path: Path) -> None:
    file = write(DATA_SETS["graph"], tmp_path, PEOPLE)
    with pytest.raises(duckdb.Error):
        exact(file, "DELETE FROM knows")
