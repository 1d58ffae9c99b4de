"""Bounds in the text of a policy: nothing else changes, and what cannot be written is said."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from planner.policy.policy import parse_policy
from server.cli.failure import CommandFailed
from server.cli.tuning import difference, with_bounds, write_policy

HEAD = """\
# Ours.
name = "clinic"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
patient = "id"
[tables.patient]

"""
VISIT = {"visit": {"rows": 1024.0, "cost": 80000.0}}


def changed(text: str, proposals: dict[str, dict[str, float]]) -> list[str]:
    """The lines that are added and taken away."""
    after = with_bounds(text, parse_policy(text), proposals)
    lines = difference(text, after, "policy.toml").splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


CLIP = "+clip = { rows = 1024, cost = 80000 }"


def test_they_stand_in_the_tables_section() -> None:
    text = HEAD + "[tables.visit]  # theirs\nrows = 9\n\n[tables.visit.columns]\ncost = { range = [0, 5] }\n"
    assert changed(text, VISIT) == [CLIP]
    after = with_bounds(text, parse_policy(text), VISIT)
    assert parse_policy(after).tables["visit"].clip == {"rows": 1024, "cost": 80000}
    assert with_bounds(after, parse_policy(after), VISIT) == after, "a second time changes nothing"


def test_a_table_without_a_section_of_its_own_is_given_one() -> None:
    text = HEAD + "[tables.visit.columns]\ncost = { range = [0, 5] }\n"
    assert changed(text, VISIT) == ["+[tables.visit]", CLIP, "+"]


def test_bounds_of_other_measures_stay() -> None:
    text = HEAD + "[tables.visit]\nat_most = {days = 9}\nclip = {rows = 50, days = 9}\n"
    assert changed(text, VISIT) == [
        "+clip = { rows = 1024, days = 9, cost = 80000 }",
        "-clip = {rows = 50, days = 9}",
    ]


def test_a_table_of_another_schema_is_named_in_quotes() -> None:
    text = 'schemas = ["public", "clinic"]\n' + HEAD + '[tables."clinic.visit"]\n'
    assert changed(text, {"clinic.visit": {"a b": 2.0}}) == ['+clip = { "a b" = 2 }']


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (HEAD + "[tables.visit]\n[tables.visit.clip]\nrows = 5\n", ""),
        (
            HEAD.replace("[tables.patient]", "[tables]\npatient = {}\nvisit = { clip = { days = 9 } }"),
            "days = 9, ",
        ),
    ],
)
def test_a_spelling_that_is_not_understood_is_left_alone(text: str, days: str) -> None:
    with pytest.raises(CommandFailed, match="nothing is written") as failed:
        with_bounds(text, parse_policy(text), VISIT)
    assert failed.value.hint == f"write into it: [tables.visit] clip = {{ {days}rows = 1024, cost = 80000 }}"


def test_a_file_is_written_whole_with_its_rights_unless_it_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("one\n")
    path.chmod(0o640)
    write_policy(path, "one\n", "two\n")
    assert path.read_text() == "two\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(CommandFailed, match="changed meanwhile"):
        write_policy(path, "one\n", "three\n")
    assert path.read_text() == "two\n"
    assert [one.name for one in tmp_path.iterdir()] == ["policy.toml"]
