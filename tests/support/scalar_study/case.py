"""The queries of the study, with everything about them that a custodian would declare in public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import duckdb

from privacy.join_tuples import JoinTuples
from privacy.thresholds import Thresholds
from privacy.units import ONE
from tests.support.graph_joins import GRAPHS, edge_file, graph_tuples
from tests.support.scalar_study.tpch_totals import revenue_tuples

DEGREE = 1024
"""D, the public bound on degrees that the papers assume of these graphs. Enron's largest is 1383: there the promise
is false, which costs nothing but bias at q = 1, and at q < 1 privacy up to g(infinity)."""

TUPLES = {
    "edges": DEGREE,  # every edge once, whichever end the unit is
    "triangles": DEGREE * (DEGREE - 1) // 2,  # every triangle once: pairs of neighbours
    "2-paths": 3 * DEGREE * (DEGREE - 1) // 2,  # as the middle, pairs of neighbours; as an end, D times D - 1
}
COLLABORATORS = {"edges": DEGREE, "triangles": DEGREE, "2-paths": DEGREE**2}

_LINES_OF_CUSTOMER = 64 * 7
"""At most 64 orders, of at most seven lines as the specification has it."""

_LINES_OF_SUPPLIER = 1024


@dataclass(frozen=True, eq=False, repr=False)
class ScalarCase:
    """One query and its public bounds.

    Attributes:
      name: of data and query.
      tuples: one row per join tuple, one group, weights of at most ONE.
      tuples_per_unit: Delta, also the global sensitivity, as a tuple weighs at most 1.
      collaborators: at most so many other units bring a tuple of one unit (sample_and_explore).
      units: how many privacy units there are of the first owner's relation, taken as public.
      whole: every weight is ONE.
    """

    name: str
    tuples: JoinTuples
    tuples_per_unit: int
    collaborators: int
    units: int
    whole: bool

    @cached_property
    def truth(self) -> float:
        """The answer, in normalised weight."""
        return float(self.tuples.weights[0].sum(dtype=float)) / ONE

    @property
    def gap(self) -> float:
        """eta, as the server has it for so many owners per tuple."""
        return 0.0 if len(self.tuples.owners) <= 2 else 0.01

    @property
    def thresholds(self) -> Thresholds:
        """Every threshold that some mechanism wants."""
        return Thresholds(0 if self.whole else -20, (self.tuples_per_unit - 1).bit_length())

    def __repr__(self) -> str:
        return f"ScalarCase({self.name!r}, <private>)"


def names() -> list[str]:
    """All cases, by name."""
    graphs = [f"{graph}, {pattern}" for graph, pattern in product(GRAPHS, TUPLES)]
    return [*graphs, "TPC-H Q5 total", "TPC-H Q3 total"]


def cases(wanted: list[str], scale: float) -> Iterator[ScalarCase]:
    """The wanted cases, one in memory at a time; graphs whose files are absent are left out, with a word about it."""
    for graph, pattern in product(GRAPHS, TUPLES):
        name = f"{graph}, {pattern}"
        if name in wanted and not edge_file(graph).is_file():
            print(f"{name} is left out: {edge_file(graph)} is not there")
        elif name in wanted:
            tuples = graph_tuples(graph, pattern)
            yield ScalarCase(name, tuples, TUPLES[pattern], COLLABORATORS[pattern], _nodes(graph), True)
    revenue = [name for name in ("Q5", "Q3") if f"TPC-H {name} total" in wanted]
    tables = revenue_tuples(scale) if revenue else {}
    for name in revenue:
        lines, shared = (_LINES_OF_SUPPLIER,) * 2 if name == "Q5" else (_LINES_OF_CUSTOMER, 0)
        yield ScalarCase(f"TPC-H {name} total", tables[name], lines, shared, int(150_000 * scale), False)


def _nodes(graph: str) -> int:
    with duckdb.connect() as connection:
        ends = f"SELECT src FROM '{edge_file(graph)}' UNION SELECT dst FROM '{edge_file(graph)}'"
        found = connection.execute(f"SELECT count(*) FROM ({ends})").fetchone()
    assert found is not None
    return int(found[0])
