"""Three planted bugs, which a simulation that is worth anything finds: an answer before its charge, a lost commit, a
second release under one charge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from server.answers.cached_answers import Served
from server.answers.encoding import encoded
from server.answers.released import Released
from server.answers.run import Running
from server.answers.work import Measure
from server.errors import ChargeUnsettled, ServerError
from server.ledger.charge import Reservation
from server.pipeline import Pipeline
from server.query import Budget
from tests.support.simulation.history import Simulation

Cancelled = threading.Event | None


class _AnswersFirst(Running):
    simulation: Simulation

    def _released(
        self, work: Measure, cancelled: Cancelled, reservation: Reservation, served: Mapping[str, Served]
    ) -> tuple[Released, Budget]:
        released = Released(*self._measured(reservation, work.question, cancelled))
        scheduler, ledger = self.simulation.scheduler, self.deciding.planning.ledger
        process = scheduler.task.process

        def commit() -> None:
            scheduler.task.process = process
            scheduler.pause(0.1)
            with suppress(ServerError):
                ledger.commit(reservation, encoded(released))

        scheduler.spawn("commits later", commit)
        return released, ledger.budget(reservation.charge.analyst)


class _MeasuresAgain(Running):
    def _released(
        self, work: Measure, cancelled: Cancelled, reservation: Reservation, served: Mapping[str, Served]
    ) -> tuple[Released, Budget]:
        try:
            return super()._released(work, cancelled, reservation, served)
        except ChargeUnsettled:
            released = Released(*self._measured(reservation, work.question, cancelled))
            return released, self.deciding.planning.ledger.budget(reservation.charge.analyst)


def _as(kind: type[Running], pipeline: Pipeline, **more: Any) -> Pipeline:
    """The same pipeline, which runs as a subclass does."""
    made = replace(pipeline)
    running = kind(made.deciding, made.workers, made.outage)
    for name, value in more.items():
        object.__setattr__(running, name, value)
    made.__dict__["running"] = running
    return made


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
