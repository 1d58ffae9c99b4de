"""The key comes from the environment or a file, and is never repeated in a message."""

from pathlib import Path

import pytest

from server.cli.client import VARIABLE, read_key
from server.cli.failure import CommandFailed, ExitCode


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " ng_abc\n")
    assert read_key(None) == "ng_abc"


def test_the_file_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "other")
    path = tmp_path / "key"
    path.write_text("ng_abc\n")
    path.chmod(0o600)
    assert read_key(path) == "ng_abc"


def test_warns_when_others_can_read_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    path.write_text("ng_abc\n")
    path.chmod(0o644)
    read_key(path)
    assert "chmod 600" in capsys.readouterr().err
    path.chmod(0o600)
    read_key(path)
    assert capsys.readouterr().err == ""


def test_what_is_not_one_word_is_refused_without_repeating_it(tmp_path: Path) -> None:
    for text in ["", "two words", "café"]:
        path = tmp_path / "key"
        path.write_text(text)
        with pytest.raises(CommandFailed) as raised:
            read_key(path)
        assert raised.value.exit_code is ExitCode.UNUSABLE, text
        assert not text or text not in raised.value.message, text


def test_no_key_says_where_to_put_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(CommandFailed) as raised:
        read_key(None)
    assert VARIABLE in (raised.value.hint or "")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="absent"):
        read_key(tmp_path / "absent")
