"""One history: proxies that die and are cut off, clients who ask and cancel; what left, and what the ledger holds."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from planner.errors import PlannerError
from server.answers.encoding import decoded
from server.errors import LedgerInvalid, ServerError
from server.ledger.analyst import Act
from server.ledger.charge import ChargeRecord
from server.ledger.entry import Verification
from server.ledger.ledger import Ledger
from server.ledger.postgres import PostgresStore
from server.ledger.store import Writing
from server.ledger.verify import check_entries, check_marker
from server.ledger.writes.account_rows import all_balances
from server.pipeline import Pipeline
from server.query import QueryRequest
from tests.support.simulation.ledger_database import SimulatedDatabase
from tests.support.simulation.scheduler import Killed, Scheduler
from tests.support.simulation.world import (
    WORKER_FAULTS,
    Draw,
    SimulatedData,
    SimulatedWorkers,
    WatchedLedger,
    World,
    patched,
    planned,
    policy_and_schema,
)

ANALYSTS = ("ada", "eve", "grace")
QUESTIONS = (
    "SELECT count(*) FROM orders",
    "SELECT count(*) FROM customer",
    "SELECT count(*) FROM orders WHERE o_orderpriority = '1-URGENT'",
)
EPSILONS = (0.25, 0.5)
_MEMORY = Path("/dev/shm")

_CLIENTS = 5
_REQUESTS = 3
_TRIES = 3
_PROXIES = 2
_RATES = (0.005, 0.02, 0.06)
"""The probability of a fault before each step, by the seed."""

_OF_PROXIES = ("kill", "cut", "lost before", "lost after", "conflict")
"""Faults of one proxy: it ends, its connections to the ledger do, its next write ends so."""

_OF_ALL = ("ledger away", "ledger full", "power", "data away", "schema")
"""Faults of everybody's ledger and data."""

_YESTERDAY_S = 1.0
"""When the backup is made that is put back at the end, and refused."""

_QUIET_S = 600.0
"""After the last client has left, for what the faults have left behind to end."""


@dataclass
class Asked:
    """A request, and what its client saw.

    Attributes:
      request: as it was sent.
      value: the number that arrived; None where none did.
      follows: it follows from other answers, and need be none that was drawn.
      charged: the epsilon that the answer says it was charged.
      error: what arrived instead; None where the connection broke.
      faults: what was done to the client's task, to its proxy, or to all, while it was asked.
      least_left: the least that the analyst's accounts had left while it was asked.
      broken: the proxy ended before anything arrived.
    """

    request: QueryRequest
    value: int | None = None
    follows: bool = False
    charged: float = 0.0
    error: BaseException | None = None
    faults: tuple[str, ...] = ()
    least_left: float = 0.0
    broken: bool = False


@dataclass(eq=False)
class Proxy:
    """A process that serves: what a client's task is in while it asks."""

    number: int
    pipeline: Pipeline
    ledger: Ledger


@dataclass(frozen=True)
class Fault:
    """What was done, to whom, and for how long in simulated seconds; to all where `process` is None."""

    kind: str
    process: object | None
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class History:
    """What happened.

    Attributes:
      asked: every request that was sent, in order of its end.
      draws: every measurement that ended.
      reads: the numbers of charges under which private rows may have been read.
      failed: the numbers of charges whose last measurement failed once they may have been, whoever was told of it.
      charges: of the ledger at the end, when every proxy has begun again.
      kept: by the number of a charge, the number that its kept answer has.
      verified: what the ledger's own replay finds.
      injected: the faults, by name.
      steps: of the scheduler.
    """

    asked: tuple[Asked, ...]
    draws: tuple[Draw, ...]
    reads: frozenset[int]
    failed: frozenset[int]
    charges: tuple[ChargeRecord, ...]
    kept: dict[int, int]
    verified: Verification
    injected: tuple[str, ...]
    steps: int


Break = Callable[["Simulation", Pipeline], Pipeline]
"""A planted bug: a proxy's pipeline, made wrong."""


class Simulation:
    """One history in the making.

    Args:
      seed: from which all of it follows.
      broken: what is done to each pipeline; a planted bug.
      keeps_commits: False plants a disk that forgets the last commit.
    """

    def __init__(self, seed: int, broken: Break | None = None, *, keeps_commits: bool = True) -> None:
        self.scheduler = Scheduler(seed)
        self.database = SimulatedDatabase(self.scheduler, keeps_commits=keeps_commits)
        self.world = World(self.scheduler, self.database)
        self.data = SimulatedData(self.world)
        self.proxies: list[Proxy | None] = [None] * _PROXIES
        self.starting: object = None
        self.asked: list[Asked] = []
        self.injected: list[str] = []
        self.faults: list[Fault] = []
        self.clients_left = _CLIENTS
        self.refused_yesterday: bool | None = None
        self._yesterday: bytes | None = None
        self._rate = self.scheduler.choice.choice(_RATES)
        self._broken = broken
        self._least: list[tuple[int, dict[str, float]]] = []
        self._numbers = 0

    def run(self) -> History:
        """All of it."""
        with (
            tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder,
            patched(self.scheduler, self.database, self._process),
        ):
            self._markers = [Path(folder) / f"marker{place}.json" for place in range(_PROXIES)]
            self._administrator = Ledger(PostgresStore("simulated", Path(folder) / "custodian.json"))
            self.database.committed = self._note_left
            self.database.harmed = lambda kind, process: self._note(kind, process, self.scheduler.now_s)
            self._note_left()
            self.scheduler.between = self._between
            for number in range(_CLIENTS):
                self.scheduler.spawn(f"client {number}", self._client)
            for place in range(_PROXIES):
                self.scheduler.spawn(f"keeper {place}", partial(self._keep_alive, place))
            self.scheduler.run()
            self.scheduler.between = lambda: None
            return self._ended()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.database.clock(), UTC)

    def _process(self) -> object:
        return self.scheduler.task.process if self.scheduler.inside else self

    def _note_left(self) -> None:
        left = {one.name: one.epsilon_left() for one in all_balances(self.database.view())}
        self._least.append((self.scheduler.steps, left))

    # Proxies.

    def _keep_alive(self, place: int) -> None:
        """Start a proxy, and again when it has ended, until nobody asks any more."""
        while self.clients_left:
            if self.proxies[place] is None:
                self._start(place)
            self.scheduler.pause(0.5)

    def _start(self, place: int) -> None:
        """As `noisegate serve` does: open the ledger, check it, and call what the dead have left crashed."""
        self._numbers += 1
        proxy = Proxy(self._numbers, cast(Pipeline, None), cast(Ledger, None))
        task = self.scheduler.task
        task.process = proxy
        try:
            self.open(proxy, self._markers[place])
            self.proxies[place] = proxy
        except (ServerError, Killed):
            pass  # the keeper tries again
        finally:
            task.process = None

    def open(self, proxy: Proxy, marker: Path) -> None:
        """Open the ledger for a proxy. Raises ServerError."""
        store = PostgresStore("simulated", marker)
        store.write(partial(_check, store.id, marker))
        proxy.ledger = WatchedLedger(store, self.world)
        proxy.ledger.recover()
        policy, schema = policy_and_schema()
        workers = cast(Any, SimulatedWorkers(self.world))
        pipeline = Pipeline(policy, schema, cast(Any, self.data), proxy.ledger, workers, self._now, planned())
        proxy.pipeline = pipeline if self._broken is None else self._broken(self, pipeline)

    def _kill(self, proxy: Proxy) -> None:
        self.scheduler.kill(proxy)
        self.database.end_sessions(proxy)
        self.proxies = [None if one is proxy else one for one in self.proxies]

    # Clients.

    def _client(self) -> None:
        """A few requests, each sent again under its idempotency key where the connection broke."""
        choice, scheduler = self.scheduler.choice, self.scheduler
        try:
            for _ in range(_REQUESTS):
                scheduler.pause(choice.choice([0.0, 0.2, 2.0]))
                request = QueryRequest(
                    choice.choice(ANALYSTS),
                    choice.choice(QUESTIONS),
                    epsilon=choice.choice(EPSILONS),
                    idempotency_key=f"key {scheduler.steps}" if choice.random() < 0.5 else "",
                    reuse=choice.choice(["auto", "never"]),
                )
                for _ in range(_TRIES):
                    seen = self._ask(request)
                    if not (seen.broken and request.idempotency_key):
                        break
        finally:
            self.clients_left -= 1

    def _ask(self, request: QueryRequest) -> Asked:
        """Send it to a proxy that serves, and see what comes."""
        scheduler, task = self.scheduler, self.scheduler.task
        while not (serving := [one for one in self.proxies if one is not None]):
            scheduler.pause(0.5)
        proxy = scheduler.choice.choice(serving)
        seen = Asked(replace(request, request_id=f"request {len(self.asked)}"))
        self.asked.append(seen)
        begun, begun_s = scheduler.steps, scheduler.now_s
        task.process, task.faults = proxy, []
        cancelled = threading.Event()
        if scheduler.choice.random() < 0.1:
            task.faults.append("cancelled")
            scheduler.spawn("cancels", lambda: self._cancel(cancelled))
        try:
            found = proxy.pipeline.find(seen.request)
            answer = proxy.pipeline.finish(found, seen.request, cancelled)
            scheduler.pause()  # on its way
            ((value,),) = answer.rows
            assert isinstance(value, int)
            seen.value, seen.charged, seen.follows = value, answer.epsilon, bool(answer.derived_from)
        except Killed:
            seen.broken = True
        except (ServerError, PlannerError) as error:
            seen.error = error
        finally:
            task.process = None
        touched = [one.kind for one in self.faults if one.end_s >= begun_s and one.process in (None, proxy)]
        seen.faults = (*task.faults, *touched)
        names = [f"analyst:{request.analyst}", "group:team", "dataset"]
        window = [left for step, left in self._least if step >= begun] or [self._least[-1][1]]
        earlier = [left for step, left in self._least if step < begun][-1:]
        seen.least_left = min(left[name] for left in [*earlier, *window] for name in names)
        return seen

    def _cancel(self, cancelled: threading.Event) -> None:
        self.scheduler.pause(self.scheduler.choice.choice([0.0, 0.05, 0.5]))
        cancelled.set()

    # Faults.

    def _between(self) -> None:
        choice, now_s = self.scheduler.choice, self.scheduler.now_s
        if self._yesterday is None and now_s >= _YESTERDAY_S:
            self._yesterday = self.database.saved()
        if not self.clients_left or choice.random() >= self._rate:
            return
        living = [one for one in self.proxies if one is not None]
        proxy = choice.choice(living) if living else None
        seconds = choice.choice([0.3, 2.0, 8.0])
        kind = choice.choice([*_OF_PROXIES, *_OF_ALL, "clock", "bump", *WORKER_FAULTS])
        if proxy is None and kind in _OF_PROXIES:
            return
        self.injected.append(kind)
        if kind in WORKER_FAULTS:
            self.world.next_worker_fault = kind
        elif kind == "clock":
            self.database.clock_offset_s += choice.choice([-7200.0, -30.0, 30.0, 7200.0])
        elif kind == "bump":
            self._bump()
        elif kind in _OF_PROXIES:
            assert proxy is not None
            self._harm(proxy, kind, now_s + seconds)
        else:
            self._harm_all(kind, now_s + seconds)

    def _note(self, kind: str, process: object | None, end_s: float) -> None:
        self.faults.append(Fault(kind, process, self.scheduler.now_s, end_s))

    def _bump(self) -> None:
        """The custodian's own process says that the data is a new load, where the ledger can be written now."""
        with suppress(ServerError):
            self._administrator.bump_data(Act("custodian", "a new load"))

    def _harm_all(self, kind: str, until_s: float) -> None:
        self._note(kind, None, until_s)
        match kind:
            case "data away":
                self.world.database_away_until_s = until_s
            case "schema":
                self.world.schema_changed_until_s = until_s
            case "ledger full":
                self.database.full_until_s = until_s
            case _:
                self.database.away_until_s = until_s
        if kind == "power":
            self.database.lose_power()

    def _harm(self, proxy: Proxy, kind: str, until_s: float) -> None:
        if kind == "kill":
            self._kill(proxy)
        elif kind == "cut":
            self._note(kind, proxy, until_s)
            self.database.cut_until_s[proxy] = until_s
            self.database.end_sessions(proxy)
        else:
            self.database.ends[proxy] = kind

    # The end.

    def _ended(self) -> History:
        """Every process ends; one begins again, without faults, and reads what is there."""
        for one in self.proxies:
            if one is not None:
                self._kill(one)
        self.scheduler.now_s += _QUIET_S
        self.database.away_until_s = self.database.full_until_s = 0.0
        self.world.database_away_until_s = self.world.schema_changed_until_s = 0.0
        self.world.next_worker_fault = ""
        self.database.ends.clear()
        last = Proxy(0, cast(Pipeline, None), cast(Ledger, None))
        self.open(last, self._markers[0])
        charges = last.ledger.charges(limit=10**6)
        kept = {}
        for record in charges:
            answer = last.ledger.cached_answer(record.charge.answer_key, record.charge.analyst)
            if record.state == "committed" and record.charge.repeats is None and answer is not None:
                kept[record.number] = self._number(record.number)
        verified = last.ledger.verify()
        last.ledger.close()
        self.refused_yesterday = self._is_refused(self._yesterday)
        return History(
            tuple(self.asked),
            tuple(self.world.draws),
            frozenset(self.world.reads),
            frozenset(self.world.failed),
            charges,
            kept,
            verified,
            tuple(self.injected),
            self.scheduler.steps,
        )

    def _is_refused(self, saved: bytes | None) -> bool | None:
        """Does a proxy whose marker knows more refuse a ledger that was put back? None where nothing was added."""
        now = self.database.saved()
        if saved is None or saved == now:
            return None
        self.database.restore(saved)
        try:
            self.open(Proxy(0, cast(Pipeline, None), cast(Ledger, None)), self._markers[0])
        except LedgerInvalid:
            return True
        finally:
            self.database.restore(now)
        return False

    def _number(self, number: int) -> int:
        """What the kept answer of a charge says."""
        ((blob,),) = self.database.view().rows("SELECT answer FROM answers WHERE number = ?", number)
        return round(float(decoded(blob).noisy[0].values[0]))


def _check(identity: str, marker: Path, view: Writing) -> None:
    """What is looked at of a ledger that is opened."""
    check_marker(view, identity, marker, "The ledger")
    check_entries(view)
