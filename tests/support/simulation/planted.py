"""Three planted bugs, which a simulation that is worth anything finds: an answer before its charge, a lost commit, a
second release under one charge."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from typing import Any

from server.answers.encoding import encoded
from server.answers.released import Released
from server.errors import ChargeUnsettled, ServerError
from server.ledger.charge import Reservation
from server.pipeline import Pipeline
from server.query import Budget
from server.question import Question
from tests.support.simulation.history import Simulation

Cancelled = threading.Event | None


def _as(kind: type[Pipeline], pipeline: Pipeline, **more: Any) -> Pipeline:
    """The pipeline as a subclass of its own."""
    made = kind(**{one.name: getattr(pipeline, one.name) for one in fields(pipeline)})
    for name, value in more.items():
        object.__setattr__(made, name, value)
    return made


class _AnswersFirst(Pipeline):
    simulation: Simulation

    def _released_under(
        self, question: Question, cancelled: Cancelled, reservation: Reservation
    ) -> tuple[Released, Budget]:
        released = Released(*self._measured(reservation, question, cancelled))
        scheduler = self.simulation.scheduler
        process = scheduler.task.process

        def commit() -> None:
            scheduler.task.process = process
            scheduler.pause(0.1)
            with suppress(ServerError):
                self.ledger.commit(reservation, encoded(released))

        scheduler.spawn("commits later", commit)
        return released, self.ledger.budget(reservation.charge.analyst)


class _MeasuresAgain(Pipeline):
    def _released_under(
        self, question: Question, cancelled: Cancelled, reservation: Reservation
    ) -> tuple[Released, Budget]:
        try:
            return super()._released_under(question, cancelled, reservation)
        except ChargeUnsettled:
            released = Released(*self._measured(reservation, question, cancelled))
            return released, self.ledger.budget(reservation.charge.analyst)


def _answers_first(simulation: Simulation, pipeline: Pipeline) -> Pipeline:
    return _as(_AnswersFirst, pipeline, simulation=simulation)


def _measures_again(simulation: Simulation, pipeline: Pipeline) -> Pipeline:
    del simulation
    return _as(_MeasuresAgain, pipeline)


PLANTED: dict[str, Callable[[int], Simulation]] = {
    "charge after answer": lambda seed: Simulation(seed, _answers_first),
    "lost commit": lambda seed: Simulation(seed, keeps_commits=False),
    "double release": lambda seed: Simulation(seed, _measures_again),
}
"""By name, the history of a seed with the bug in it."""
