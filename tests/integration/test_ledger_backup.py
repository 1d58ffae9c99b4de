"""A copy that is taken while charges are made starts again with the right budgets; one that lacks some does not."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from server.errors import LedgerInvalid, LedgerUnavailable
from server.ledger import sqlite_backup
from server.ledger.account import Grant
from server.ledger.analyst import Act, Credentials, key_hash
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger, open_ledger
from server.ledger.sqlite_backup import Place, back_up, restore, undone_by
from tests.support.charging import reserve
from tests.unit.server.cli.commands.test_open_ledger import POLICY

WHY = Act("a test", "the disk was lost")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "ledger.sqlite", tmp_path / "policy.ledger.json")
    with closing(create_ledger(made.ledger, made.marker)) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1000.0, 0.0)
    return made


def _spend(ledger: Ledger, times: int = 1) -> None:
    for number in range(times):
        charge = Charge("ada", 0.5, 0.0, "r", "p", f"q{number}", "gem", answer_key=uuid4().hex)
        ledger.commit(reserve(ledger, charge), b"noisy")


def _spent(place: Place) -> float:
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        assert ledger.verify().fault is None
        left, charges = ledger.budget("ada").epsilon_left, len(ledger.charges())
        assert 1000.0 - left == 0.5 * charges
        return 1000.0 - left


def _gone(place: Place) -> None:
    for path in place.ledger.parent.glob("ledger.sqlite*"):
        path.unlink()


def test_a_copy_under_load_starts_with_the_right_budgets(place: Place, tmp_path: Path) -> None:
    stop, begun = threading.Event(), threading.Event()

    def load() -> None:
        with closing(open_ledger(place.ledger, place.marker)) as ledger:
            while not stop.is_set():
                _spend(ledger)
                begun.set()

    writer = threading.Thread(target=load)
    writer.start()
    try:
        assert begun.wait(60)
        copies = [
            Place(tmp_path / str(n) / "ledger.sqlite", tmp_path / str(n) / "policy.ledger.json") for n in range(3)
        ]
        for copy in copies:
            back_up(place, copy)
    finally:
        stop.set()
        writer.join(60)
    spent = [_spent(copy) for copy in copies]
    assert 0 < spent[0] <= spent[1] <= spent[2] <= _spent(place)
    assert not [path for path in copies[0].ledger.parent.iterdir() if path.name.startswith(".")]
    with pytest.raises(LedgerUnavailable, match="already"):
        back_up(place, copies[0])


def test_a_lost_ledger_comes_back_from_its_copy(place: Place, tmp_path: Path) -> None:
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        _spend(ledger, 3)
        back_up(place, copy)
        with pytest.raises(LedgerUnavailable, match="in use"):
            restore(copy.ledger, place, WHY)
    _gone(place)
    restore(copy.ledger, place, WHY)
    assert _spent(place) == 1.5
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        last = ledger.entries()[-1]
        assert (last.kind, last.content["missing"], last.content["reason"]) == ("restored", 0, WHY.reason)


def test_where_nothing_tells_what_a_copy_lacks_that_is_said_and_meant(place: Place, tmp_path: Path) -> None:
    """Ledger and marker are both lost: the copy may be of any age."""
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    back_up(place, copy)
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        _spend(ledger, 3)
    _gone(place)
    place.marker.unlink()
    with pytest.raises(LedgerInvalid, match="that the copy lacks is unknown"):
        restore(copy.ledger, place, WHY)
    restore(copy.ledger, place, WHY, forget=True)
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        assert ledger.entries()[-1].content["missing"] is None


@pytest.mark.parametrize("known_by", ["marker", "ledger"])
def test_an_old_copy_is_taken_only_when_that_is_meant(place: Place, tmp_path: Path, known_by: str) -> None:
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    back_up(place, copy)
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        _spend(ledger, 3)
    if known_by == "marker":
        _gone(place)
        shutil.copyfile(copy.ledger, place.ledger)
        with pytest.raises(LedgerInvalid, match="lacks charges") as refused:
            open_ledger(place.ledger, place.marker)
        assert "ledger restore" in str(refused.value.hint)
        _gone(place)
    else:
        place.marker.unlink()
    with pytest.raises(LedgerInvalid, match="lacks 6 known entries") as refused:
        restore(copy.ledger, place, WHY)
    told = "undoes 3 charges (analyst:ada epsilon 1.5)." in refused.value.message
    assert told == (known_by == "ledger"), "the ledger in place tells how much"
    if known_by == "ledger":
        assert _spent(place) == 1.5
    restore(copy.ledger, place, WHY, forget=True)
    assert _spent(place) == 0
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        assert ledger.entries()[-1].content["missing"] == 6
    kept = list(tmp_path.glob("ledger.sqlite.replaced-*"))
    assert len(kept) == (0 if known_by == "marker" else 1)


def test_what_administrators_did_since_the_copy_is_named(place: Place, tmp_path: Path) -> None:
    """Keys that were rotated and analysts who were disabled open again: whoever restores has to know whose."""
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        for name in ("bob", "eve"):
            ledger.add_analyst(name, key_hash(f"ng_{name}"), 5.0, 0.0)
    back_up(place, copy)
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        ledger.set_credentials("ada", Credentials(key_hash("ng_new")), WHY)
        ledger.set_enabled("eve", False, WHY)
        ledger.add_analyst("zoe", key_hash("ng_zoe"), 5.0, 0.0)
        ledger.set_credentials("zoe", Credentials(key_hash("ng_zoe2")), WHY)
        ledger.grant("analyst:bob", Grant(9.0), WHY)
        ledger.bump_data(WHY)
    undoes = "keys rotated: ada; disabled: eve; added: zoe; grants: analyst:bob; data versions: 2"
    with pytest.raises(LedgerInvalid, match=f"restoring it undoes {undoes}\\.") as refused:
        restore(copy.ledger, place, WHY)
    assert "must be repeated" in str(refused.value.hint)
    done = restore(copy.ledger, place, WHY, forget=True)
    assert (done.missing, done.undone.summary) == (7, undoes)
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        assert ledger.analyst("eve").enabled


def test_a_long_list_of_names_is_cut(place: Place, tmp_path: Path) -> None:
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    there = back_up(place, copy).number
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        for number in range(12):
            ledger.add_analyst(f"a{number:02}", key_hash(f"ng_{number}"), 5.0, 0.0)
    assert undone_by(there, place.ledger).summary.endswith("a08, a09, and 2 more")


def test_a_pair_that_was_copied_from_a_running_proxy_has_a_way_out(place: Place, tmp_path: Path) -> None:
    """The files were copied one after the other, without the log: the marker knows more than the copy."""
    pair = Place(tmp_path / "pair" / "ledger.sqlite", tmp_path / "pair" / "policy.ledger.json")
    pair.ledger.parent.mkdir()
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        shutil.copyfile(place.ledger, pair.ledger)
        _spend(ledger, 2)
        shutil.copyfile(place.marker, pair.marker)
    with pytest.raises(LedgerInvalid, match="lacks charges"):
        open_ledger(pair.ledger, pair.marker)
    with pytest.raises(LedgerInvalid, match="lacks 3 known entries"):
        restore(pair.ledger, pair, WHY)
    restore(pair.ledger, pair, WHY, forget=True)
    assert _spent(pair) == 0


def test_another_ledger_and_a_damaged_one_are_no_copy(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other" / "ledger.sqlite", tmp_path / "other" / "policy.ledger.json")
    with closing(create_ledger(other.ledger, other.marker)) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1000.0, 0.0)
    with pytest.raises(LedgerInvalid, match="another ledger"):
        restore(other.ledger, place, WHY, forget=True)
    other.ledger.write_bytes(b"nothing" * 1000)
    with pytest.raises(LedgerInvalid):
        restore(other.ledger, place, WHY, forget=True)
    assert _spent(place) == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "ledger.sqlite",
        "policy.ledger.json",
    ]


def test_the_backup_commands_write_and_restore_a_ledger(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from server.cli.main import main

    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)

    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["ledger", *arguments, "--policy", str(policy)])
        return int(ended.value.code or 0)

    assert run("backup", str(tmp_path / "monday")) == 0
    noted = capsys.readouterr().out.strip()
    with closing(open_ledger(place.ledger, place.marker)) as ledger:
        _spend(ledger)
    why = ("--reason", "a test")
    assert run("restore", str(tmp_path / "monday"), *why) == 1
    assert "--forget-charges" in capsys.readouterr().err
    assert run("restore", str(tmp_path / "monday"), *why, "--forget-charges") == 0
    said = capsys.readouterr().err
    assert "warning: undone since the copy: 1 charge (analyst:ada epsilon 0.5)." in said
    assert "run `noisegate policy accept` before you start the proxy" in " ".join(said.split())
    assert run("verify", "--head", noted) == 0


@pytest.mark.parametrize("stays_open", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_is_spent_while_a_copy_is_verified_is_not_given_back(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays_open: bool
) -> None:
    """A proxy starts once it is known that the copy lacks nothing, and charges before the copy is in place."""
    copy = Place(tmp_path / "copy" / "ledger.sqlite", tmp_path / "copy" / "policy.ledger.json")
    back_up(place, copy)
    proxies: list[Ledger] = []
    as_ever = sqlite_backup._missing

    def interrupted(copied: Path, identity: str, there: Place) -> int | None:
        found = as_ever(copied, identity, there)
        if not proxies:
            proxies.append(open_ledger(place.ledger, place.marker))
            _spend(proxies[0], 3)
            if not stays_open:
                proxies[0].close()
        return found

    monkeypatch.setattr(sqlite_backup, "_missing", interrupted)
    with pytest.raises(LedgerUnavailable if stays_open else LedgerInvalid, match=r"in use|lacks 6 known entries"):
        restore(copy.ledger, place, WHY)
    if stays_open:
        _spend(proxies[0])
        proxies[0].close()
    assert _spent(place) == (2.0 if stays_open else 1.5)
    assert not list(tmp_path.glob("ledger.sqlite.replaced-*"))
