"""The queries of the study, with everything about them that a custodian would declare in public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples
from privacy.mechanisms.sums import GroupsOfKinds
from privacy.thresholds import Thresholds
from privacy.units import ONE
from tests.support.vector_study.path_groups import EDGES, PATTERNS, is_there, path_tuples
from tests.support.vector_study.tpch_groups import QUERIES, grouped_tuples


@dataclass(frozen=True, eq=False, repr=False)
class VectorCase:
    """One query and its public bounds.

    Attributes:
      name: of data and query.
      tuples: one row per join tuple, weights of at most ONE.
      groups_per_unit: L0, as a planner proves it; None when only the number of groups bounds it.
      whole: every weight is ONE.
      kinds: L0 of the units of each relation, as a planner proves it; empty: nobody tells them apart.
    """

    name: str
    tuples: JoinTuples
    groups_per_unit: int | None
    whole: bool
    kinds: GroupsOfKinds = ()

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """(d,) the answer, in normalised weight."""
        totals = np.zeros(self.tuples.n_groups)
        np.add.at(totals, self.tuples.group, self.tuples.weights[0] / ONE)
        return totals

    @property
    def n_groups(self) -> int:
        """d."""
        return self.tuples.n_groups

    @property
    def clips(self) -> bool:
        """May `l2_clip` answer, and is it worth it: one owner, who reaches several groups?"""
        return len(self.tuples.owners) == 1 and self.groups_per_unit != 1

    @property
    def gap(self) -> float:
        """eta, as the server has it for so many owners per tuple."""
        return 0.0 if len(self.tuples.owners) <= 2 else 0.01

    @property
    def thresholds(self) -> Thresholds:
        """What our own mechanisms choose from: as the server has it for these weights."""
        return Thresholds(0 if self.whole else -20, 32)

    @property
    def published_thresholds(self) -> Thresholds:
        """1, 2, 4, ...; of revenue in thousands, as its authors have it, up to a factor below 2."""
        return Thresholds(0 if self.whole else -7, 32)

    def __repr__(self) -> str:
        return f"VectorCase({self.name!r}, <private>)"


def names() -> list[str]:
    """All cases, by name."""
    paths = [f"{edges}, {pattern}" for edges, pattern in product(EDGES, PATTERNS)]
    return [*(f"TPC-H {query.name}" for query in QUERIES), *(f"MathOverflow {path}" for path in paths)]


def cases(wanted: list[str], scale: float) -> Iterator[VectorCase]:
    """The wanted cases, of TPC-H at a scale; graphs whose files are absent are left out, with a word about it."""
    queries = [query for query in QUERIES if f"TPC-H {query.name}" in wanted]
    tables = grouped_tuples(queries, scale)
    for query in queries:
        per_unit = max(query.reached) if max(query.reached) < query.n_groups else None
        kinds = tuple(zip(query.relations, query.reached, strict=True))
        whole = query.name not in ("Q5", "Q7c")
        yield VectorCase(f"TPC-H {query.name}", tables.pop(query.name), per_unit, whole, kinds)
    for edges, pattern in product(EDGES, PATTERNS):
        name = f"MathOverflow {edges}, {pattern}"
        if name in wanted and not is_there(edges):
            print(f"{name} is left out: its file is not there")
        elif name in wanted:
            tuples = path_tuples(edges, pattern)
            yield VectorCase(name, tuples, None, True, (("user", tuples.n_groups),))
