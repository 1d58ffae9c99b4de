from __future__ import annotations

import pytest

from planner.errors import InvalidSetting, PlannerError
from server.errors import WireError
from server.pgwire.settings import Settings


def settings(**startup: str) -> Settings:
    return Settings("ann", startup)


def test_ours_are_unset_at_first_and_come_back_by_reset() -> None:
    own = settings()
    assert "epsilon" not in own.of_question()
    own.set("noisegate.epsilon", "0.5")
    own.set("Noisegate.Mechanism", "R2T")
    assert own.of_question() == {"epsilon": 0.5, "mechanism": "r2t", "reuse": "auto"}
    own.set("noisegate.epsilon", None)
    assert "epsilon" not in own.of_question()
    own.set("all", None)
    assert "mechanism" not in own.of_question()


def test_a_value_that_cannot_be() -> None:
    for name, value in [
        ("noisegate.epsilon", "0"),
        ("noisegate.epsilon", "nan"),
        ("noisegate.epsilon", "much"),
        ("noisegate.delta", "1"),
        ("noisegate.sampling_rate", "1.5"),
        ("noisegate.mechanism", "magic"),
        ("noisegate.intervals", "perhaps"),
        ("noisegate.epsilom", "1"),
        ("client_encoding", "latin1"),
        ("search_path", "a" * 1_001),
        ("standard_conforming_strings", "off"),
        ("default_transaction_read_only", "perhaps"),
        ("statement_timeout", "soon"),
        ("server_version", "99"),
    ]:
        own = settings()
        before = own.get(name)
        with pytest.raises(PlannerError):
            own.set(name, value)
        assert own.get(name) == before, name


def test_an_old_name_sets_the_new_setting() -> None:
    own = settings()
    own.set("Noisegate.nobody_adds_more_than", "30")
    assert own.of_question()["at_most"] == 30.0
    assert own.get("noisegate.nobody_adds_more_than") == own.get("noisegate.at_most") == "30"
    assert "noisegate.nobody_adds_more_than" not in {name for name, *_ in own.all()}


def test_sessions_stay_read_only_whatever_a_driver_sets() -> None:
    for name in ("default_transaction_read_only", "transaction_read_only"):
        own = settings()
        own.set(name, "off")
        assert own.get(name) == "on"


def test_every_spelling_of_utf8() -> None:
    for spelled in ["utf8", "UTF-8", "'utf-8'", "unicode", '"UTF_8"']:
        assert settings(client_encoding=spelled).get("client_encoding") == "UTF8", spelled


def test_settings_of_the_startup_message() -> None:
    own = settings(options=r"-c noisegate.epsilon=0.5 -capplication_name=a\ b -c jit=off", timezone="CET")
    assert own.of_question()["epsilon"] == 0.5
    assert (own.get("application_name"), own.get("timezone")) == ("a b", "CET")
    own.set("noisegate.epsilon", "2")
    own.set("all", None)
    assert own.of_question()["epsilon"] == 0.5, "RESET gives what the session began with"


def test_startup_options_that_cannot_be_kept_are_refused() -> None:
    for options in ["-c noisegate.epsilom=1", "-c noisegate.epsilon=0", "-c", "-d 5", "epsilon=1"]:
        with pytest.raises((PlannerError, WireError)):
            settings(options=options)


def test_an_unknown_setting_has_no_effect() -> None:
    assert settings().set("jit", "off") is False
    assert settings().get("jit") is None


def test_a_rolled_back_transaction_takes_its_settings_along() -> None:
    own = settings()
    own.begin()
    own.set("noisegate.epsilon", "2")
    own.end(committed=False)
    assert "epsilon" not in own.of_question()
    own.begin()
    own.set("noisegate.epsilon", "2")
    own.end(committed=True)
    assert own.of_question()["epsilon"] == 2


def test_set_local_ends_with_its_transaction() -> None:
    own = settings()
    own.set("noisegate.epsilon", "1")
    own.begin()
    own.set("noisegate.epsilon", "2", local=True)
    assert own.of_question()["epsilon"] == 2
    own.end(committed=True)
    assert own.of_question()["epsilon"] == 1


def test_startup_parameters_are_the_defaults_of_the_session() -> None:
    own = settings(application_name="psql", TimeZone="Asia/Tokyo", unheard_of="1")
    assert own.reported()["TimeZone"] == "Asia/Tokyo"
    own.set("timezone", "UTC")
    own.set("timezone", None)
    assert own.get("TimeZone") == "Asia/Tokyo"
    assert own.reported()["session_authorization"] == "ann"


def test_a_startup_parameter_that_cannot_be_is_refused() -> None:
    with pytest.raises(PlannerError):
        settings(client_encoding="latin1")


def test_a_duration_with_a_unit_is_read_in_milliseconds() -> None:
    for written, ms in [("0", 0), ("1500", 1500), ("2s", 2000), ("1min", 60_000)]:
        own = settings()
        own.set("statement_timeout", written)
        assert own.duration_ms("statement_timeout") == ms, written


def test_invalid_settings_say_what_there_is() -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings().set("noisegate.eps", "1")
    assert "noisegate.epsilon" in (caught.value.hint or "")
