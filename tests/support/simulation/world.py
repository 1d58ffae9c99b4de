"""What simulated proxies run in: other clocks and locks, workers that draw a number, a schema that changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, cast
from unittest import mock
from weakref import WeakValueDictionary

import numpy as np

from planner.errors import SchemaChanged
from planner.policy.policy import Policy
from planner.schema import Dialect, Schema
from privacy.noisy_answer import NoisyAnswer
from server.answers import cached_answers
from server.backends.columns import Domain
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    CancelledByClient,
    CancelledEarly,
    QueryCancelled,
    TooManyQueries,
    WorkerFailed,
)
from server.ledger import postgres as postgres_store
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.question import Asked, Question
from server.scheduling import single_flight
from tests.support.planning import demo_policy
from tests.support.simulation.ledger_database import Session, SimulatedDatabase
from tests.support.simulation.scheduler import Scheduler, SimulatedThreading, SimulatedTime, Task
from tests.support.tpch_schema import tpch_schema

WORKER_FAULTS: dict[str, tuple[Callable[[], BaseException], bool]] = {
    "busy": (lambda: TooManyQueries("all workers are busy"), False),
    "no database": (lambda: BackendUnavailable("the database could not be reached"), False),
    "cut off": (lambda: BackendConnectionLost("the connection broke"), True),
    "limit": (lambda: QueryCancelled("over a limit"), True),
    "refused": (lambda: BackendFailed("the database refused a statement"), True),
    "killed": (lambda: WorkerFailed("a worker process ended"), True),
    "out of memory": (lambda: MemoryError(), True),
}
"""By name what a measurement may raise, and whether private rows may have been read by then."""


@dataclass
class Draw:
    """One measurement that ended.

    Attributes:
      value: the released number; no two draws have the same.
      reservation: under which it was made.
    """

    value: int
    reservation: Reservation


@dataclass
class World:
    """One history's.

    Attributes:
      draws: every measurement that ended, in order.
      reads: the numbers of the charges under which private rows may have been read.
      failed: the numbers of the charges whose last measurement failed once they may have been, and was not cancelled.
      database_away_until_s: the data's own server is not reached until then.
      schema_changed_until_s: the data's tables are others until then.
      next_worker_fault: what happens to the next measurement.
    """

    scheduler: Scheduler
    ledger: SimulatedDatabase
    draws: list[Draw] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    database_away_until_s: float = 0.0
    schema_changed_until_s: float = 0.0
    next_worker_fault: str = ""
    reservations: dict[Task, Reservation] = field(default_factory=dict)

    def check_data(self) -> None:
        """Raises where the data's server is away or has other tables."""
        if self.scheduler.now_s < self.database_away_until_s:
            raise BackendUnavailable("the database could not be reached")
        if self.scheduler.now_s < self.schema_changed_until_s:
            raise SchemaChanged("the tables have changed")


class WatchedLedger(Ledger):
    """The product's ledger, of which each task's last reservation is remembered."""

    def __init__(self, store: postgres_store.PostgresStore, world: World) -> None:
        super().__init__(store)
        self._world = world

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        """As the product's, of one question."""
        claimed = super().claim_all(charges)
        if claimed is not None:
            (self._world.reservations[self._world.scheduler.task],) = claimed
        return claimed


@dataclass(frozen=True)
class SimulatedData:
    """The data's database, of which the schema alone is looked at outside of workers."""

    dialect: ClassVar[Dialect] = "postgres"

    world: World

    def check_schema(self, fingerprint: str) -> None:
        """Raises BackendUnavailable, SchemaChanged."""
        self.world.scheduler.pause()
        self.world.check_data()


@dataclass(frozen=True)
class SimulatedWorkers:
    """Worker processes: a measurement takes a while and draws a number that no other has."""

    world: World

    def call(
        self, function: object, *arguments: object, cancelled: threading.Event | None = None, **others: object
    ) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
        """Measure under the reservation that the task has just made."""
        del function, arguments, others
        world, scheduler = self.world, self.world.scheduler
        scheduler.pause()
        if cancelled is not None and cancelled.is_set():
            raise CancelledEarly("the query was cancelled before it began")
        world.check_data()
        reservation = world.reservations[scheduler.task]
        fault, world.next_worker_fault = world.next_worker_fault, ""
        made, has_read = WORKER_FAULTS.get(fault, (None, True))
        if made is not None:
            scheduler.task.faults.append(f"worker: {fault}")
        if not has_read:
            assert made is not None
            raise made()
        world.reads.add(reservation.id)
        world.failed.discard(reservation.id)  # a second attempt ends as it will
        scheduler.pause(scheduler.choice.choice([0.0, 0.05, 1.0]))
        if cancelled is not None and cancelled.is_set():
            raise CancelledByClient("the query was cancelled; it was charged")
        if made is not None:
            world.failed.add(reservation.id)
            raise made()
        world.draws.append(Draw(1000 + len(world.draws), reservation))
        return Domain(()), (_answer(float(world.draws[-1].value), reservation.charge.epsilon),)


def _answer(value: float, epsilon: float) -> NoisyAnswer:
    one = np.ones(1)
    ends = (one * (value - 5), one * (value + 5))
    return NoisyAnswer(one * value, one, one, *ends, 0.95, "truncated_full", "gem", epsilon, one * 100.0)


@contextmanager
def patched(scheduler: Scheduler, database: SimulatedDatabase, process: Callable[[], object]) -> Iterator[None]:
    """The product's modules with the simulation's time, locks and connections.

    Args:
      process: whose thread it is that connects.
    """
    time, locks = SimulatedTime(scheduler), SimulatedThreading(scheduler)
    changed: list[tuple[Any, str, object]] = [
        # by question and charge, which other histories have too
        (cached_answers, "shown_answers", LruCache(64, 1 << 20)),
        (cached_answers, "_being_read", WeakValueDictionary()),
        (cached_answers, "time", time),
        (single_flight, "time", time),
        (single_flight, "threading", locks),
        (postgres_store, "time", time),
        (postgres_store, "threading", locks),
        (postgres_store, "connect", lambda url: database.connect(process())),
        (postgres_store, "translated", lambda connection: nullcontext()),
        (postgres_store, "write_transaction", _write),
        (postgres_store, "read_transaction", _read),
    ]
    with ExitStack() as stack:
        for module, name, value in changed:
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def _write(session: Session, clock: object, retried: bool, steady: object) -> Any:
    del clock, steady
    return session.database.write(session, retried)


def _read(session: Session, clock: object, steady: object) -> Any:
    del clock, steady
    return session.database.read(session)


@cache
def policy_and_schema() -> tuple[Policy, Schema]:
    """The demonstration's."""
    return demo_policy(), tpch_schema()


@cache
def planned() -> LruCache[Asked, Question]:
    """Plans, which are public and the same in every history."""
    return cast("LruCache[Asked, Question]", LruCache(4096, 1 << 30))
