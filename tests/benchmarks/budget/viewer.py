"""Who looks at a dashboard and wants each chart within 5%, for as little epsilon as is known to do.

A question that is new is asked with a small epsilon first; from that answer follows what 5% takes. The next day it is
asked with a little more than any of the last answers would have needed; an answer that missed is asked again with as
much more, or where two answers are combined with the rest. What has been answered today is not asked again.

Who keeps what was measured of closed periods knows two things more. What is measured of them stays, so that it is
asked for with a margin. And a number of all days of which the closed ones are kept is asked for with ever less, as
this makes the open days alone less accurate, until an answer does not do; from then on with a little more than then.
One that was measured anew is asked for with what it needed.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planner.errors import InvalidSetting, PlannerError
from planner.planning.answer_times import rounded_up
from privacy.errors import PrivacyError
from server.answers.periods.summed_response import IN_TWO
from server.errors import ServerError
from server.query import QueryResponse
from tests.benchmarks.budget.dashboards import Asked
from tests.benchmarks.budget.typical_error import TARGET, is_clipped, noise_alone, typical_error

_PILOTS = (0.02, 0.1, 0.5)
_WEAK = 0.5
"""The typical error from which nothing follows of a value, nor of what another epsilon would give."""
_REMEMBERED = 5
_ROUNDS = 9
_ABOVE = 1.02
"""How much more than what would just have done is asked for."""
_AFTER_CUT, _ABOVE_CUT = 2.0, 1.25
"""How much more is asked for after an answer was marked as cut; and how much above such an epsilon from then on."""
_STAYS = 1.12
"""How much more is asked for than would just do where what is measured stays."""
_IN_TWO = 1.25
"""The same where closed days and the others are measured apart: both are a little wider than one answer would be."""
_ANEW = 0.5
"""The part of the epsilon that was asked for from which on an answer counts as measured anew."""
_LESS, _NOT_LESS = 0.6, 1.3
"""How much of the epsilon that did before is asked for where closed days are kept, and how far above one that did
not."""
_SAME = 1.5
"""How much more is asked for after an answer that was free, and did not do."""
_TRIED = 1.25
"""How far beyond the most permitted epsilon what is wanted may lie for the most to be tried."""

Refusal = PlannerError | ServerError | PrivacyError


class Proxy(Protocol):
    """What a viewer asks."""

    @property
    def max_epsilon(self) -> float:
        """The most that one question may ask for."""
        ...

    @property
    def combines(self) -> bool:
        """Does it combine a second answer with the first, where both were cut alike?"""
        ...

    def free(self, sql: str) -> QueryResponse | None:
        """The answer that follows from what has been paid for; None where none does, or none is looked for."""
        ...

    def combined(self, sql: str) -> QueryResponse | None:
        """What all answers that were paid for today say together; None where they are not combined."""
        ...

    def answers(self, wishes: Sequence[tuple[str, float]]) -> Sequence[QueryResponse | Refusal]:
        """The answers to questions, each with its epsilon."""
        ...


@dataclass(frozen=True)
class Answered:
    """What became of a question on one day.

    Attributes:
      load: from 0.
      epsilon, delta: what was charged for it, over all attempts.
      wide: the part of that epsilon which paid for answers that were too wide.
      error: the typical error that was reached.
      attempts: how many answers were asked for; 0 where a free one did.
      sql: what was asked.
      answer: the last answer.
    """

    asked: Asked
    load: int
    epsilon: float
    delta: float
    wide: float
    error: float
    attempts: int
    answer: QueryResponse

    @property
    def within(self) -> bool:
        """Is it as accurate as was wished?"""
        return self.error <= TARGET


@dataclass
class _Pending:
    """A question that is being asked.

    Attributes:
      squares: of the epsilons of the answers that are combined in `last`; 0 where there is none yet.
      combines: have all answers been combined so far?
      paid_before: what was charged before the last answer.
    """

    asked: Asked
    epsilon: float
    charged: float = 0.0
    delta: float = 0.0
    attempts: int = 0
    squares: float = 0.0
    last: QueryResponse | None = None
    combines: bool = True
    paid_before: float = 0.0


@dataclass
class Viewer:
    """One analyst before one dashboard.

    Attributes:
      proxy: is asked.
        keeps: does the proxy keep what was measured of closed periods?
      judges: is a question that cannot be brought to 5% noted, and asked no more? Otherwise it counts as a miss.
      answered: everything that was answered, in order.
      beyond: by template, why no permitted epsilon does.
      refused: by template, the refusal.
    """

    proxy: Proxy
    keeps: bool = False
    judges: bool = True
    answered: list[Answered] = field(default_factory=list)
    beyond: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    _needs: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_REMEMBERED)))
    _cut_at: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _today: dict[str, Answered] = field(default_factory=dict)
    _in_parts: dict[str, float] = field(default_factory=dict)
    _too_little: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def new_load(self) -> None:
        """Forget today's answers; what they took is remembered."""
        self._today.clear()

    def look(self, questions: Sequence[Asked], load: int) -> None:
        """Ask until each is within 5%, or cannot be."""
        pending = []
        for asked in questions:
            if asked.template in self.beyond or asked.template in self.refused or asked.sql in self._today:
                continue
            if not self._is_free(asked, load):
                pending.append(self._begin(asked))
        for _ in range(_ROUNDS):
            if not pending:
                return
            found = self.proxy.answers([(one.asked.sql, one.epsilon) for one in pending])
            pending = [
                one for one, answer in zip(pending, found, strict=True) if not self._settled(one, answer, load)
            ]
        for one in pending:
            if one.last is not None:
                self._note(self._of(one, load, one.last))

    def _is_free(self, asked: Asked, load: int) -> bool:
        answer = self.proxy.free(asked.sql)
        if answer is None or typical_error(answer) > TARGET:
            return False
        self._note(Answered(asked, load, 0.0, 0.0, 0.0, typical_error(answer), 0, answer))
        return True

    def _begin(self, asked: Asked) -> _Pending:
        needs, before = self._needs.get(asked.template), self._in_parts.get(asked.template)
        if before is not None:
            return _Pending(asked, before)
        if not needs:
            return _Pending(asked, _PILOTS[0])
        return _Pending(asked, min(rounded_up(_ABOVE * max(needs)), self.proxy.max_epsilon))

    def _settled(self, one: _Pending, answer: QueryResponse | Refusal, load: int) -> bool:
        """Is it answered, refused or beyond reach? Otherwise it is to be asked with its new epsilon."""
        template, asked = one.asked.template, one.epsilon
        one.attempts += 1
        if not isinstance(answer, QueryResponse):
            return self._refused(one, answer)
        one.charged += answer.epsilon
        one.delta += answer.delta
        answer = self._combined(one, answer)
        one.last = answer
        error = typical_error(answer)
        need = max(math.sqrt(one.squares) * noise_alone(answer) / TARGET, _ABOVE_CUT * self._cut_at[template])
        in_parts = self.keeps and _is_in_parts(answer) and not one.asked.chart.bucket
        self._in_parts.pop(template, None)
        if error <= TARGET:
            if in_parts:  # what is kept does for the same epsilon; what was measured anew may have been too much
                anew = answer.epsilon > _ANEW * one.epsilon
                less = max(_LESS * one.epsilon, _NOT_LESS * self._too_little[template])
                self._in_parts[template] = min(one.epsilon, rounded_up(_IN_TWO * need if anew else less))
            if not (in_parts and self._needs[template]):
                self._needs[template].append(need)
        elif self._asks_again(one, answer, need):
            if in_parts:
                self._too_little[template] = max(self._too_little[template], asked)
            one.paid_before = one.charged
            return False
        if template not in self.beyond:
            self._note(self._of(one, load, answer))
        return True

    def _combined(self, one: _Pending, answer: QueryResponse) -> QueryResponse:
        """This answer with those before it, or alone where they are not combined."""
        combined = None if one.last is None else self.proxy.combined(one.asked.sql)
        if combined is not None and noise_alone(combined) < min(noise_alone(answer), noise_alone(one.last or answer)):
            one.squares += one.epsilon**2
            return combined
        one.combines = one.last is None
        one.squares = one.epsilon**2
        return answer

    @staticmethod
    def _of(one: _Pending, load: int, answer: QueryResponse) -> Answered:
        wide = one.paid_before
        return Answered(one.asked, load, one.charged, one.delta, wide, typical_error(answer), one.attempts, answer)

    def _refused(self, one: _Pending, refusal: Refusal) -> bool:
        """Too small an epsilon is asked again with more; all else stays refused."""
        if isinstance(refusal, InvalidSetting) and one.epsilon < self.proxy.max_epsilon:
            one.epsilon = min(self.proxy.max_epsilon, rounded_up(2 * one.epsilon))
            return False
        self.refused[one.asked.template] = f"{type(refusal).__name__}: {refusal}"
        return True

    def _asks_again(self, one: _Pending, answer: QueryResponse, need: float) -> bool:
        """Find the next epsilon. Returns: False where none is permitted that would do."""
        template, most, wide = one.asked.template, self.proxy.max_epsilon, noise_alone(answer)
        cut = is_clipped(answer)
        if cut:
            self._cut_at[template] = max(self._cut_at[template], one.epsilon)
        combines = one.combines and self.proxy.combines
        if one.epsilon >= most and not combines:
            why = "too little for how much it cuts" if cut else f"{100 * wide:.3g}%"
            return self._beyond(template, f"{why} at epsilon {one.epsilon:g}")
        if wide > _WEAK:
            larger = [pilot for pilot in _PILOTS if pilot > one.epsilon]
            if not larger:
                return self._beyond(template, f"{100 * wide:.3g}% at epsilon {one.epsilon:g}")
            one.epsilon = larger[0]
            return True
        above = _ABOVE if not self.keeps else _STAYS if one.asked.chart.bucket else _IN_TWO
        wanted = _AFTER_CUT * one.epsilon if cut else need * above
        if not answer.epsilon and not cut:
            wanted = max(wanted, _SAME * one.epsilon)
        wanted = max(wanted, one.epsilon * _ABOVE)
        if combines and not cut:
            wanted = math.sqrt(max(wanted**2 - one.squares, (0.2 * one.epsilon) ** 2))
        if not cut and wanted > _TRIED * most:
            return self._beyond(template, f"would take epsilon {wanted:.3g}")
        one.epsilon = min(most, rounded_up(wanted))
        return True

    def _beyond(self, template: str, why: str) -> bool:
        if self.judges and not self._needs.get(template):
            self.beyond[template] = why
        return False

    def _note(self, answered: Answered) -> None:
        self.answered.append(answered)
        self._today[answered.asked.sql] = answered


def _is_in_parts(answer: QueryResponse) -> bool:
    """Is it put together from kept days, or were closed days measured apart, to be kept?"""
    return bool(answer.cached_periods) or IN_TWO in answer.notes
