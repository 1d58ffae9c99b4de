"""Patterns of a directed graph, each in two spellings and as a count by brute force.

An undirected graph is one that has every edge in both directions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass

Edge = tuple[int, int]


@dataclass(frozen=True)
class Pattern:
    """What is counted.

    Attributes:
      name: as the literature has it.
      nodes: how many nodes it has: so many owners has a join tuple.
      edges: which nodes its edges join.
      distinct: tells one of the ways to name the nodes from the others; every way has all edges.
      spellings: two texts of one question.
    """

    name: str
    nodes: int
    edges: tuple[Edge, ...]
    distinct: Callable[[tuple[int, ...]], bool]
    spellings: tuple[str, str]

    def found(self, edges: Collection[Edge]) -> list[tuple[int, ...]]:
        """Try every way to place the nodes. Cost: nodes of the graph to the power of nodes of the pattern."""
        known = set(edges)
        ends = sorted({end for edge in known for end in edge})
        return [
            placed
            for placed in itertools.product(ends, repeat=self.nodes)
            if self.distinct(placed)
            and all((placed[source], placed[target]) in known for source, target in self.edges)
        ]


PATTERNS = (
    Pattern("edges", 2, ((0, 1),), lambda n: n[0] < n[1], ("SELECT count(*) FROM edge WHERE src < dst",
     'SELECT COUNT(1) AS "how many" FROM public.edge AS e(a, b) WHERE (e.a < b)')),
    Pattern("directed edges", 2, ((0, 1),), lambda n: True, ("SELECT count(*) FROM edge",
     "WITH e AS (SELECT src, dst FROM edge) SELECT COUNT(*) FROM e AS every")),
    Pattern("2-paths", 3, ((0, 1), (1, 2)), lambda n: n[0] != n[2],
     ("SELECT count(*) FROM edge e1, edge e2 WHERE e1.dst = e2.src AND e1.src <> e2.dst",
     "SELECT count(*) FROM (SELECT src AS a, dst AS b FROM edge) x\n"
     "JOIN (SELECT src AS b, dst AS c FROM edge) y USING (b) WHERE a <> c")),
    Pattern("3-paths", 4, ((0, 1), (1, 2), (2, 3)), lambda n: n[0] != n[2] and n[1] != n[3] and n[0] != n[3],
     ("SELECT count(*) FROM edge e1 JOIN edge e2 ON e1.dst = e2.src JOIN edge e3 ON e2.dst = e3.src\n"
     "WHERE e1.src <> e2.dst AND e2.src <> e3.dst AND e1.src <> e3.dst", "WITH path(a, b, c, d) AS (\n"
     "  SELECT e1.src, e2.src, e2.dst, e3.dst FROM edge e1, edge e2, edge e3\n"
     "  WHERE e1.dst = e2.src AND e2.dst = e3.src AND e1.src != e2.dst\n"
     ") SELECT count(*) FROM path WHERE b != d AND a != d")),
    Pattern("triangles", 3, ((0, 1), (1, 2), (2, 0)), lambda n: n[0] < n[1] and n[0] < n[2],
     ("SELECT count(*) FROM edge e1, edge e2, edge e3\n"
     "WHERE e1.dst = e2.src AND e2.dst = e3.src AND e3.dst = e1.src AND e1.src < e2.src AND e1.src < e3.src",
     "SELECT count(*) FROM edge e1 JOIN edge e2 ON e1.dst = e2.src\n"
     "INNER JOIN edge e3 ON (e2.dst = e3.src AND e3.dst = e1.src) WHERE e1.src < e2.src AND (e1.src < e3.src)")),
    Pattern("rectangles", 4, ((0, 1), (1, 2), (2, 3), (3, 0)), lambda n: n[0] < min(n[1:]) and n[1] != n[3],
     ("SELECT count(*) FROM edge e1, edge e2, edge e3, edge e4\n"
     "WHERE e1.dst = e2.src AND e2.dst = e3.src AND e3.dst = e4.src AND e4.dst = e1.src\n"
     "  AND e1.src < e2.src AND e1.src < e3.src AND e1.src < e4.src AND e2.src <> e4.src",
     "WITH step AS (SELECT src AS here, dst AS there FROM edge)\n"
     "SELECT count(*) FROM step a JOIN step b ON a.there = b.here JOIN step c ON b.there = c.here\n"
     "JOIN step d ON c.there = d.here AND d.there = a.here\n"
     "WHERE a.here < b.here AND a.here < c.here AND a.here < d.here AND b.here <> d.here")),
    Pattern("2-triangles", 4, ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)), lambda n: n[2] < n[3],
     ("SELECT count(*) FROM edge base, edge e1, edge e2, edge e3, edge e4\n"
     "WHERE e1.src = base.src AND e2.src = base.dst AND e2.dst = e1.dst\n"
     "  AND e3.src = base.src AND e4.src = base.dst AND e4.dst = e3.dst AND e1.dst < e3.dst",
     "SELECT count(*) FROM edge base JOIN edge e1 USING (src)\n"
     "JOIN (SELECT src AS second, dst AS apex FROM edge) e2 ON e2.second = base.dst AND apex = e1.dst\n"
     "JOIN edge e3 ON e3.src = base.src JOIN edge e4 ON e4.src = base.dst AND e4.dst = e3.dst\n"
     "WHERE e1.dst < e3.dst")),
    Pattern("fan-out-2", 3, ((0, 1), (0, 2)), lambda n: n[1] < n[2],
     ("SELECT count(*) FROM edge e1 JOIN edge e2 USING (src) WHERE e1.dst < e2.dst",
     "SELECT count(*) FROM edge AS one(hub, x), edge AS two(hub, y) WHERE one.hub = two.hub AND x < y")),
)  # fmt: skip
