from __future__ import annotations

import pytest

from planner.errors import InvalidSetting
from server.pgwire.settings import Settings, read_path, spelled
from tests.support.wire_client import query
from tests.unit.server.pgwire.test_session import Talk, rows


def test_values_are_lists_of_identifiers() -> None:
    cases: list[tuple[str, tuple[str, ...]]] = [
        ("clinic", ("clinic",)),
        (' Clinic , "Ref"', ("clinic", "Ref")),
        ("ÄRzte", ("Ärzte",)),
        ('"a,b","c""d"', ("a,b", 'c"d')),
        ("", ()),
        ('""', ("",)),
    ]
    for value, path in cases:
        assert read_path(value) == path, value
        assert read_path(spelled(path)) == path, value


def test_other_values_are_refused_as_postgresql_refuses_them() -> None:
    for value in ["a b", '"a', "a,", ",a", "a,,b", 'a"b"']:
        with pytest.raises(InvalidSetting, match="list of schemas"):
            read_path(value)


def test_a_session_that_sets_nothing_has_the_policys_path() -> None:
    own = Settings("ann", {}, ("clinic", "ref"))
    assert (own.get("search_path"), own.search_path()) == ("clinic, ref", None)
    own.set("search_path", '"$user", public')
    assert own.search_path() == ("public",)
    own.set("search_path", None)
    assert own.search_path() is None
    assert Settings("ann", {"search_path": "ref"}, ("clinic",)).search_path() == ("ref",)


def test_questions_carry_the_sessions_path() -> None:
    talk = Talk()
    talk.say(query("SELECT count(*) FROM t"))
    talk.say(query("SET search_path TO Clinic, 'Ref, x'"), query("SELECT count(*) FROM t"))
    assert [asked.search_path for asked in talk.gateway.asked] == [None, ("clinic", "Ref, x")]
    assert rows(talk.say(query("SHOW search_path"))) == [[b'clinic, "Ref, x"']]
