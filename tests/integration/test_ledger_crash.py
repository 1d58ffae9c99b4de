"""Proxies are killed at every step: no answer leaves without its charge, no charge is lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from server.backends.embedded import EmbeddedPostgres
from server.ledger.account import UNLIMITED, Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.charge import Charge
from server.ledger.entry import EntryKind
from server.ledger.ledger import Ledger
from server.ledger.postgres import create_postgres_ledger, open_postgres_ledger
from server.ledger.sqlite import create_ledger, open_ledger
from tests.support.charging import reserve
from tests.support.ledger_database import empty_ledger_database
from tests.support.ledger_victim import EPSILON
from tests.support.seeds import examples

Open = Callable[[], Ledger]
Kill = Callable[[int], dict[str, object]]

N_POINTS = 260
"""More than there are fault points in the life of a victim."""

ROUNDS = [10, pytest.param(300, marks=pytest.mark.slow)]


@contextmanager
def victims(*arguments: object) -> Iterator[Kill]:
    """A process that forks victims: tell it where, and it tells what became of one."""
    command = [sys.executable, "-m", "tests.support.ledger_victim", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forker:

        def kill(point: int) -> dict[str, object]:
            assert forker.stdin is not None
            assert forker.stdout is not None
            forker.stdin.write(f"{point}\n")
            forker.stdin.flush()
            return dict(json.loads(forker.stdout.readline()))

        yield kill
        assert forker.stdin is not None
        forker.stdin.close()


@pytest.mark.parametrize("rounds", ROUNDS)
def test_sqlite_survives_its_proxies(tmp_path: Path, rounds: int) -> None:
    paths = tmp_path / "ledger.sqlite", tmp_path / "marker.json"
    with closing(create_ledger(*paths)) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1e3, 0.0)
    with victims("sqlite", *paths) as kill:
        kill_often(kill, lambda: open_ledger(*paths), rounds)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", ROUNDS)
def test_postgres_survives_its_proxies(embedded_postgres: EmbeddedPostgres, tmp_path: Path, rounds: int) -> None:
    where = empty_ledger_database(embedded_postgres), tmp_path / "marker.json"
    with closing(create_postgres_ledger(*where)) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1e3, 0.0)
    with victims("postgres", *where) as kill:
        kill_often(kill, lambda: open_postgres_ledger(*where), rounds)


def kill_often(kill: Kill, reopen: Open, rounds: int) -> None:
    """Kill and recover; the points are spread over a victim's life, so that all its steps are met."""
    choice = random.Random(rounds)
    before = left_open = 0
    for number in range(rounds):
        outcome = kill(number * N_POINTS // rounds + choice.randrange(N_POINTS // rounds + 1))
        assert outcome["killed"] is True
        with closing(reopen()) as ledger:
            crashed = ledger.recover()
            before = check(ledger, outcome["told"], before, [one.id for one in crashed])
            left_open += len(crashed)
    assert left_open >= rounds // 10  # some died between reserving and settling
    with closing(reopen()) as ledger:
        assert ledger.verify().fault is None


def check(ledger: Ledger, told: object, before: int, crashed: list[int]) -> int:
    """Whether the ledger holds what its victim was promised; returns how many charges there are."""
    assert isinstance(told, list)
    records = ledger.charges(after=before)
    numbers = [record.number for record in records]
    assert numbers == list(range(before + 1, before + 1 + len(numbers)))
    reserved = [number for step, number in told if step == "reserved"]
    assert numbers[: len(reserved)] == reserved  # no charge is lost,
    assert len(numbers) <= len(reserved) + 1  # and none is made that was not under way
    for record in records:
        kept = ledger.cached_answer(record.charge.answer_key, "ada")
        if record.state == "committed":
            assert kept is not None
            assert (kept.number, kept.answer) == (record.number, record.charge.answer_key.encode())
        else:
            assert (record.state, kept) == ("crashed", None)
    assert crashed == [record.number for record in records if record.state == "crashed"]
    answered = {number for step, number in told if step == "answered"}
    assert answered <= {record.number for record in records if record.state == "committed"}
    charged = before + len(numbers)
    assert ledger.budget("ada").epsilon_left == pytest.approx(1e3 - charged * EPSILON, abs=1e-10)
    return charged


def test_the_living_are_not_called_crashed(tmp_path: Path) -> None:
    paths = tmp_path / "ledger.sqlite", tmp_path / "marker.json"
    with closing(create_ledger(*paths)) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1.0, 0.0)
    with subprocess.Popen([sys.executable, "-c", WAITING, *map(str, paths)], stdout=subprocess.PIPE) as living:
        try:
            assert living.stdout is not None
            assert living.stdout.readline() == b"1\n"
            with closing(open_ledger(*paths)) as ledger:
                assert ledger.recover() == ()
                living.kill()
                living.wait()
                assert [one.id for one in ledger.recover()] == [1]
        finally:
            living.kill()


WAITING = """
import sys, time
from pathlib import Path
from server.ledger.charge import Charge
from server.ledger.sqlite import open_ledger

ledger = open_ledger(Path(sys.argv[1]), Path(sys.argv[2]))
charge = Charge("ada", 0.1, 0.0, "request", "policy", "plan", "gem", answer_key="question")
print(ledger.claim_all((charge,))[0].id, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_who_dies_while_a_budget_is_renewed_gives_it_once(
    how: str, tmp_path: Path, embedded_postgres: EmbeddedPostgres
) -> None:
    """At every step of the first charge of a month: the renewal stands whole before it, or is not there."""
    marker = tmp_path / "marker.json"
    where = empty_ledger_database(embedded_postgres) if how == "postgres" else str(tmp_path / "ledger.sqlite")
    lately = time.time()

    def book(clock: Callable[[], float] | None = None) -> Ledger:
        if how == "postgres":
            return open_postgres_ledger(where, marker, clock)
        return open_ledger(Path(where), marker, *(() if clock is None else (clock,)))

    with closing(
        create_postgres_ledger(where, marker, lambda: lately - 4000 * 86_400)
        if how == "postgres"
        else create_ledger(Path(where), marker, lambda: lately - 4000 * 86_400)
    ) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1.0, 0.0)
    deaths = renewed = 0
    with victims(how, where, marker) as kill:
        for number, point in enumerate(range(0, N_POINTS, examples(6, 3))):
            # Once more a month that ended long ago, and of which everything is spent.
            past_s = lately - (3900 - 40 * number) * 86_400
            with closing(book(partial(float, past_s))) as ledger:
                ledger.grant("analyst:ada", Grant(1.0, renew="month", most_in_total=UNLIMITED), Act())
                ledger.recover()
                left = ledger.budget("ada").epsilon_left
                if left:
                    charge = Charge("ada", left, 0.0, "request", "policy", "plan", "gem")
                    ledger.commit(reserve(ledger, charge))
                before = len(ledger.charges(limit=10_000))
                began = [entry.kind for entry in ledger.entries(limit=10_000)].count(EntryKind.RENEWED)
            outcome = kill(point)
            assert outcome["killed"] is True
            with closing(book()) as ledger:
                ledger.recover()
                made = len(ledger.charges(limit=10_000)) - before
                entries = [entry.kind for entry in ledger.entries(limit=10_000)].count(EntryKind.RENEWED) - began
                assert entries in ((0, 1) if made == 0 else (1,))
                assert ledger.budget("ada").epsilon_left == pytest.approx(1.0 - made * EPSILON, abs=1e-10)
                assert ledger.verify().fault is None
                deaths += made == 0
                renewed += entries
            if made > 1:  # it died after the whole first charge, as all that follow would
                break
    assert deaths and renewed, "some died before the charge, some after the renewal"
