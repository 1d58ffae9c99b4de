"""The comparison at length: so many questions of every generator, in chunks, each with ledgers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from planner.errors import PolicyInvalid
from server.query import QueryRequest
from tests.property.sja_questions import SPELLINGS, questions
from tests.property.sja_world import Row, Rows, rows_of, worlds
from tests.security.pairwise import questions as asked
from tests.security.pairwise.lockstep import ANALYST, Lockstep, Seen
from tests.security.pairwise.worlds import HOSTILE_POLICY, Files, drawn, hostile, trade, trade_policy, world_policy

_CHUNK = 200
_EXPLAINED = 25
"""Of so many questions one is planned for each of the two, and explained and described, too."""

_OF_A_WORLD = 12


@dataclass(frozen=True)
class Generator:
    """Questions by their number, and the databases that they are asked of."""

    question: Callable[[int], QueryRequest]
    files: Callable[[Path], Files]
    policy: Callable[[], str]


GENERATORS = {
    "hostile": Generator(asked.hostile, hostile, lambda: HOSTILE_POLICY),
    "composed": Generator(asked.composed, trade, trade_policy),
    "spoken": Generator(asked.spoken, trade, trade_policy),
}


def compared(name: str, folder: Path, first: int, count: int) -> Seen:
    """Ask questions of one generator, by their numbers.

    Args:
      folder: for the databases, which are made if they are not there.
      first: the number of the first one, which is its seed.
    """
    if name == "drawn":
        return _compared_drawn(folder, first, count)
    made = GENERATORS[name]
    files = made.files(folder)
    seen = Seen()
    with opened(files, made.policy()) as lockstep:
        for number in range(first, first + count):
            if (number - first) % _CHUNK == 0:
                lockstep.begin()
            whole = number % _EXPLAINED == 0
            seen.add(lockstep.compare(made.question(number), explain=whole, anew=whole))
    return seen


@contextmanager
def opened(files: Files, policy_text: str) -> Iterator[Lockstep]:
    """The two, until they are done."""
    lockstep = Lockstep(files, policy_text)
    try:
        yield lockstep
    finally:
        lockstep.close()


def _compared_drawn(folder: Path, first: int, count: int) -> Seen:
    """Random worlds, less some or all of the rows that one of their people owns."""
    seen = Seen()

    @seed(first)
    @settings(
        max_examples=-(-count * 2 // _OF_A_WORLD),  # some worlds are none, and others are drawn instead
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        world = data.draw(worlds())
        rows = data.draw(rows_of(world))
        less = _less(data, rows)
        texts = [
            data.draw(questions(world)).sql(data.draw(st.sampled_from(SPELLINGS)), world) for _ in range(_OF_A_WORLD)
        ]
        prices = [data.draw(st.sampled_from((0.05, 1.0))) for _ in texts]
        if seen.asked >= count:
            return  # after all draws: which ones there are may not depend on what was asked before
        try:
            files = drawn(folder, rows, less)
            with opened(files, world_policy(world)) as lockstep:
                for place, (text, price) in enumerate(zip(texts, prices, strict=True)):
                    request = QueryRequest(ANALYST, text, epsilon=price, reuse="never")
                    seen.add(lockstep.compare(request, anew=not place))
        except (PolicyInvalid, duckdb.ConstraintException):
            return  # of references of a row to itself DuckDB knows less than these worlds do

    ask()
    return seen


def _less(data: st.DataObject, rows: Rows) -> Rows:
    """Without what one person owns, but for what the rows of others must reference."""
    units = sorted({unit for table, held in rows.tables.items() for row in held for unit in rows.owners(table, row)})
    unit = data.draw(st.sampled_from(units or [("t0", 1)]))
    gone: dict[str, list[Row]] = {
        table: [row for row in held if unit in rows.owners(table, row)] for table, held in rows.tables.items()
    }
    moved = True
    while moved:  # what a row that stays must reference stays, too: some of what one person owns may be gone, or all
        moved = False
        for shape in rows.world.shapes:
            for key in [one for one in shape.references if one.enforced]:
                staying = [row for row in rows.tables[shape.name] if row not in gone[shape.name]]
                for parent in filter(None, (rows.parent(row, key) for row in staying)):
                    if parent in gone[key.references]:
                        gone[key.references].remove(parent)
                        moved = True
    kept = {table: tuple(row for row in held if row not in gone[table]) for table, held in rows.tables.items()}
    return Rows(rows.world, kept)
