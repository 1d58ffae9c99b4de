"""Databases that fail on purpose; frozen and importable, since worker processes get a copy."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from planner.plan import BackendQuery
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.schema import Dialect
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.errors import ServerError


def people(count: int) -> JoinTuples:
    """One tuple of full weight for each of `count` people."""
    owner = OwnerColumn("customer", np.arange(count), np.zeros(count, bool))
    return JoinTuples((owner,), np.zeros(count, np.int64), 1, np.full((1, count), ONE, np.int64))


@dataclass(frozen=True)
class FailingBackend:
    """Raises each error of a list in turn, then answers with a thousand people.

    Attributes:
      log: a file that gets a line per read, so that reads in other processes can be counted.
      failures: what the first reads raise.
      seconds: how long a read takes.
    """

    dialect: ClassVar[Dialect] = "postgres"

    log: Path
    failures: tuple[ServerError | BaseException | type[BaseException], ...] = field(default=())
    seconds: float = 0.0

    def check_schema(self, fingerprint: str) -> None:
        pass

    def domain(self, query: BackendQuery) -> Domain:
        return Domain(())

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        raise AssertionError("no public query is asked here")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        reads = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        with self.log.open("a") as log:
            log.write("read\n")
        time.sleep(self.seconds)
        if reads < len(self.failures):
            raise self.failures[reads]
        return Domain(()), QueryTuples(people(1000), (None,))
