"""Words of questions open with their key, beside their charge and in their ledger, and nowhere else."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import ConfigurationInvalid, LedgerInvalid
from server.ledger.question_texts import MAX_TEXT_BYTES, PAD_BYTES, AskedText, QuestionKeys, add_key, new_question_key

SQL = "SELECT count(*) FROM visit WHERE ward = $1"
TEXT = AskedText(SQL, ("A", 7, 0.5, None, True))


def keys(path: Path, *lines: str) -> QuestionKeys:
    path.write_text("\n".join(lines or (new_question_key(),)))
    return QuestionKeys.read(path)


@pytest.fixture
def one(tmp_path: Path) -> QuestionKeys:
    return keys(tmp_path / "questions.key")


def test_what_was_sealed_opens(one: QuestionKeys) -> None:
    encrypted = one.encrypted("ledger", 7, TEXT)
    assert one.decrypted("ledger", 7, encrypted) == TEXT
    assert encrypted.isascii() and SQL not in encrypted
    assert SQL.encode() not in base64.b64decode(encrypted.rpartition(".")[2])
    assert one.encrypted("ledger", 7, TEXT) != encrypted, "under another nonce"
    assert "$1 = 'A'" in TEXT.shown


@given(sql=st.text(max_size=600), other=st.text(max_size=600))
def test_the_length_tells_no_more_than_a_multiple(
    tmp_path_factory: pytest.TempPathFactory, sql: str, other: str
) -> None:
    made = keys(tmp_path_factory.getbasetemp() / "some.key")
    lengths = [
        len(base64.b64decode(made.encrypted("l", 1, AskedText(one)).rpartition(".")[2])) for one in (sql, other)
    ]
    assert all((length - 12 - 16) % PAD_BYTES == 0 for length in lengths)
    assert made.decrypted("l", 1, made.encrypted("l", 1, AskedText(sql))).sql == sql


def test_a_text_is_bound_to_its_charge_and_its_ledger(one: QuestionKeys) -> None:
    cases: list[tuple[str, int]] = [("ledger", 8), ("other", 7)]
    for place in cases:
        with pytest.raises(LedgerInvalid, match="was not encrypted for it"):
            one.decrypted(*place, one.encrypted("ledger", 7, TEXT))


def test_an_edited_text_does_not_open(one: QuestionKeys) -> None:
    head, _, body = one.encrypted("ledger", 7, TEXT).rpartition(".")
    raw = bytearray(base64.b64decode(body))
    for place in (0, 12, len(raw) - 1):
        edited = bytes(raw[:place]) + bytes([raw[place] ^ 1]) + bytes(raw[place + 1 :])
        with pytest.raises(LedgerInvalid):
            one.decrypted("ledger", 7, f"{head}.{base64.b64encode(edited).decode()}")
    for nonsense in ("", "1", "1.x.y", f"{head}.%", f"{head}.", "2" + head[1:] + f".{body}"):
        with pytest.raises(LedgerInvalid):
            one.decrypted("ledger", 7, nonsense)


def test_another_key_says_which_one_it_was(one: QuestionKeys, tmp_path: Path) -> None:
    encrypted = one.encrypted("ledger", 7, TEXT)
    other = keys(tmp_path / "other.key")
    with pytest.raises(LedgerInvalid, match=f"encrypted with the key {next(iter(one.keys))}") as refused:
        other.decrypted("ledger", 7, encrypted)
    assert refused.value.hint == f"The file has {next(iter(other.keys))}."


def test_a_rotated_key_seals_and_the_old_ones_open(tmp_path: Path) -> None:
    path = tmp_path / "questions.key"
    first = add_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    encrypted = QuestionKeys.read(path).encrypted("ledger", 1, TEXT)
    second = add_key(path)
    rotated = QuestionKeys.read(path)
    assert list(rotated.keys) == [second, first] and first != second
    assert second in rotated.encrypted("ledger", 2, TEXT)
    assert rotated.decrypted("ledger", 1, encrypted) == TEXT
    path.write_text(path.read_text().splitlines()[0])
    with pytest.raises(LedgerInvalid):
        QuestionKeys.read(path).decrypted("ledger", 1, encrypted)


def test_what_is_no_key_file_is_refused_without_telling_it(tmp_path: Path) -> None:
    for text in ["", "\n", "ng_something", "ngq_", "ngq_AAAA", "ngq_%%%%", "ngq_" + "é" * 8]:
        path = tmp_path / "questions.key"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationInvalid) as refused:
            QuestionKeys.read(path)
        assert not text.strip() or text.strip() not in refused.value.message, text
        with pytest.raises(ConfigurationInvalid, match="There is no question key file"):
            QuestionKeys.read(tmp_path / "absent.key")


def test_of_a_long_statement_the_beginning_is_kept(one: QuestionKeys) -> None:
    long = AskedText("SELECT '" + "ü" * 100_000 + "'", (1,))
    encrypted = one.encrypted("ledger", 1, long)
    assert len(encrypted) < 1.4 * MAX_TEXT_BYTES
    opened = one.decrypted("ledger", 1, encrypted)
    assert opened.cut and long.sql.startswith(opened.sql) and "goes on" in opened.shown


def test_nothing_of_it_is_in_a_repr(one: QuestionKeys) -> None:
    sealing = one.sealing("ledger", TEXT)
    assert one.decrypted("ledger", 3, sealing(3)) == TEXT
    for shown in (repr(one), repr(TEXT), repr(sealing)):
        assert "SELECT" not in shown and "ngq_" not in shown and "b'" not in shown
