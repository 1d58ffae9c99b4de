"""What one question may take of the database: settings of a policy that change no answer's protection."""

import pytest

from planner.errors import PolicyInvalid
from planner.policy.draft import draft
from planner.policy.policy import parse_policy
from planner.policy.sections import DatabaseLimits
from planner.policy.weakening import weakenings
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

_DRAFT = draft(tpch_schema(), "shop")


def _with(settings: str) -> str:
    return _DRAFT.replace("[database]\n", f"[database]\n{settings}\n")


def test_they_are_read_and_default() -> None:
    assert parse_policy(_DRAFT).database_limits == DatabaseLimits()
    found = parse_policy(_with("seconds = 600\nrows = 1000\nmemory_mb = 256\nprocesses = 8")).database_limits
    assert found == DatabaseLimits(600, 1_000, 256, 8)


def test_what_makes_no_sense_is_named() -> None:
    for setting in ("seconds = 3601", "rows = 0", "memory_mb = 1.5", "processes = 5000", "second = 9"):
        with pytest.raises(PolicyInvalid, match=f"database.{setting.split()[0]}"):
            parse_policy(_with(setting))


def test_the_draft_shows_them_as_comments() -> None:
    text = _DRAFT.replace("\n# seconds = 60", "\nseconds = 61").replace("\n# memory_mb = 64", "\nmemory_mb = 65")
    assert parse_policy(text).database_limits == DatabaseLimits(seconds=61, memory_mb=65)


def test_policies_without_them_keep_their_hash_and_they_weaken_nothing() -> None:
    before = demo_policy()
    after = parse_policy(_with("seconds = 600"))
    assert after.hash != parse_policy(_DRAFT).hash
    assert not list(weakenings(parse_policy(_DRAFT), after))
    assert before.database_limits == DatabaseLimits()
