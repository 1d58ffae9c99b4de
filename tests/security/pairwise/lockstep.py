"""Two neighbouring databases asked the same question, and everything that an analyst sees of both compared.

What was released is differently private and may differ. So the second database is really read, truncated and released
from, and what came out is compared in its form: which error, which groups, how many values, of what kind. Then the
*first* database's releases go on in both. From there on everything must be equal to the byte: rows, those that
HAVING and LIMIT leave, intervals, notes, charges, what is left, codes and texts of errors. Whatever differs has gone
around the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from privacy.noisy_answer import NoisyAnswer
from server.answers.work import Work
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.error_table import problem
from server.errors import QueryFailed
from server.http.answer_body import json_pieces
from server.lru_cache import LruCache
from server.pipeline import Pipeline
from server.postprocessing.composition import Composition
from server.query import QueryRequest
from server.question import Asked, Question
from server.workers.measure import measure
from server.workers.pool import WorkerPool
from tests.security.pairwise.kept_connections import KeptConnections
from tests.support.memory_ledger import MemoryLedger

Result = TypeVar("Result")
Aspect = Literal["error", "form of a release", "answer", "explanation", "description"]

NOW = datetime(2024, 5, 17, 13, 30, tzinfo=UTC)
ANALYST = "eve"
BUDGET = 1e6
_PLANNED = 4  # plans that are remembered: from the first database to the second

Measured = tuple[Domain, tuple[NoisyAnswer, ...]]
Alter = Callable[[Measured], Measured]
"""What a broken proxy does to what it has measured; of one of the two databases alone."""


@dataclass(frozen=True)
class Difference:
    """What an analyst saw of one database and not of the other."""

    sql: str
    aspect: Aspect
    first: str
    second: str


@dataclass
class Seen:
    """What became of questions: how many were answered, refused, and failed after their charge; what differed."""

    answered: int = 0
    refused: int = 0
    failed: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """How many questions there were."""
        return self.answered + self.refused + self.failed

    def add(self, other: Seen) -> None:
        """Count the other's, too."""
        self.answered += other.answered
        self.refused += other.refused
        self.failed += other.failed
        self.differences += other.differences


class Releases(WorkerPool):
    """Runs calls in this process, and notes what was measured.

    Attributes:
      measured: of the question under way, in order: a result or the error.
      given: what is handed on instead, of the other database; None: what was measured.
    """

    def __init__(self, alter: Alter | None) -> None:
        self._alter = alter
        self.measured: list[Measured | BaseException] = []
        self.given: list[Measured | BaseException] | None = None

    def call(
        self,
        function: Callable[..., Result],
        *arguments: Any,
        begin: Callable[[], object] = lambda: None,
        **_: object,
    ) -> Result:
        """As the pool's; nobody waits, and nothing is limited."""
        begin()
        if function is not measure:
            return function(*arguments)
        place = len(self.measured)
        try:
            found: Any = function(*arguments)
            self.measured.append(found if self._alter is None else self._alter(found))
        except Exception as error:
            self.measured.append(error)
        own = self.measured[place]
        if isinstance(own, BaseException):
            raise own
        if self.given is not None and place < len(self.given):
            other = self.given[place]
            if not isinstance(other, BaseException):
                return other  # type: ignore[return-value]  # what `measure` returns
        return own  # type: ignore[return-value]

    @property
    def n_alive(self) -> int:
        """There is no process."""
        return 0


class Lockstep:
    """The same pipeline over two files of the same tables.

    Args:
      files: the databases.
      policy_text: the policy of both.
      alter: of the second database, for a proxy that is broken on purpose.
      backend: makes the second one's backend of it, likewise.
    """

    def __init__(
        self,
        files: tuple[Path, Path],
        policy_text: str,
        alter: Alter | None = None,
        backend: Callable[[Backend], Backend] = lambda one: one,
    ) -> None:
        self._policy = parse_policy(policy_text)
        self._alter, self._altered = alter, backend
        first = KeptConnections.over(files[0])
        self._backends, self._kinds = [first, first.beside(files[1])], first.kinds
        self.begin()

    def begin(self) -> None:
        """Start anew, with fresh ledgers: what was kept is forgotten.

        Plans are made once for both, as they are in a proxy for whoever asks: no row is read for them. So is a
        refusal that needed no connection to the first database. Both are functions of schema and policy, which are
        equal here, of the ledger, and of the question; `compare(anew=True)` checks that.
        """
        self._questions: LruCache[Asked, Question] = LruCache(_PLANNED)
        self._compositions: LruCache[Asked, Composition] = LruCache(_PLANNED)
        self._refused: Exception | None = None
        self._pools = Releases(None), Releases(self._alter)
        self._pipelines = tuple(self._pipeline(place) for place in range(2))

    def close(self) -> None:
        """Close the files."""
        for backend in self._backends:
            backend.close()

    def compare(self, request: QueryRequest, *, explain: bool = False, anew: bool = False) -> Seen:
        """Ask both, and count.

        Args:
          explain: also have it explained and described.
          anew: plan it for the second one, too, and share nothing.
        """
        seen = Seen()
        first, second = self._pools
        first.measured, second.measured, second.given = [], [], None
        self._refused = None
        self._kinds.clear()
        one = self._outcome(0, request)
        if anew:
            self._kinds.clear()
            self._questions, self._compositions, self._refused = LruCache(_PLANNED), LruCache(_PLANNED), None
            known = {"questions": self._questions, "compositions": self._compositions}
            self._pipelines = self._pipelines[0], replace(self._pipelines[1], **known)  # type: ignore[arg-type]
        second.given = first.measured
        other = self._outcome(1, request)
        if anew:
            self._pipelines = replace(self._pipelines[0], **known), self._pipelines[1]  # type: ignore[arg-type]
        shapes = [[_form(measured) for measured in pool.measured] for pool in self._pools]
        if shapes[0] != shapes[1]:
            seen.differences.append(Difference(request.sql, "form of a release", str(shapes[0]), str(shapes[1])))
        if one != other:
            kind: Aspect = "answer" if one[0] == other[0] == "answer" else "error"
            seen.differences.append(Difference(request.sql, kind, str(one), str(other)))
        if explain:
            self._compare_words(request, seen)
        seen.answered += one[0] == "answer"
        seen.failed += one[0] == "failed"
        seen.refused += one[0] == "problem"
        return seen

    def _compare_words(self, request: QueryRequest, seen: Seen) -> None:
        """What is told before anything is measured."""
        for aspect, tell in ("explanation", self._explained), ("description", self._described):
            told = [tell(place, request) for place in range(2)]
            if told[0] != told[1]:
                seen.differences.append(Difference(request.sql, aspect, told[0], told[1]))  # type: ignore[arg-type]

    def _pipeline(self, place: int) -> Pipeline:
        backend = self._backends[place]
        schema = with_declared_keys(backend.schema(), self._policy)
        assert schema == with_declared_keys(self._backends[0].schema(), self._policy), "else no plan is of both"
        validate(self._policy, schema)
        shown: Backend = self._altered(backend) if place else backend
        ledger = MemoryLedger({ANALYST: BUDGET})
        pools = self._pools[place]
        known = {"questions": self._questions, "compositions": self._compositions}
        return Pipeline(self._policy, schema, shown, ledger, pools, clock=lambda: NOW, **known)  # type: ignore[arg-type]

    def _outcome(self, place: int, request: QueryRequest) -> tuple[str, ...]:
        """What an analyst is sent, as bytes or as a problem's fields."""
        try:
            response = self._pipelines[place].finish(self._found(place, request), request)
        except Exception as error:
            kind = "failed" if isinstance(error, QueryFailed) else "problem"
            told = problem(error)
            return kind, str(told.status), told.code, told.message, str(told.hint), str(told.position)
        return "answer", b"".join(json_pieces(response)).decode()

    def _found(self, place: int, request: QueryRequest) -> Work:
        """Look it up; what was refused for the first database without a look at it is refused for both."""
        if self._refused is not None:
            raise self._refused
        before = self._backends[place].uses
        try:
            return self._pipelines[place].find(request)
        except Exception as error:
            if self._backends[place].uses == before:
                self._refused = error
            raise

    def _explained(self, place: int, request: QueryRequest) -> str:
        try:
            return str(self._pipelines[place].explain(request))
        except Exception as error:
            return str(problem(error))

    def _described(self, place: int, request: QueryRequest) -> str:
        try:
            return str(self._pipelines[place].describe(request.sql, None, ANALYST))
        except Exception as error:
            return str(problem(error))


def _form(measured: Measured | BaseException) -> object:
    """What of a release is public: its groups, how many values there are, and how they were made."""
    if isinstance(measured, BaseException):
        return type(measured).__name__
    domain, noisy = measured
    return domain.keys, domain.blocks, domain.selected, domain.withheld, tuple(map(_form_of_one, noisy))


def _form_of_one(one: NoisyAnswer) -> object:
    arrays = one.values, one.tau, one.noise_scale, one.low, one.high, one.signal
    sizes = tuple((array.shape, str(array.dtype), bool(np.isnan(array).any())) for array in arrays)
    return sizes, one.confidence, one.covers, one.mechanism, one.epsilon, one.delta
