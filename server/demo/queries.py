"""The questions that the demonstration asks, and the most that the 95th percentile of their error may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoQuery:
    """One question.

    Attributes:
      name: short.
      protects: whose presence the answer hides.
      sql: what the analyst sends; as it stands, it also gives the true value.
      most: bar for the 95th percentile of the relative error over many runs at epsilon 1
        (with groups: of the median over the groups).
    """

    name: str
    protects: str
    sql: str
    most: float


REVENUE = "sum(l_extendedprice * (1 - l_discount))"

QUERIES: tuple[DemoQuery, ...] = (
    DemoQuery("orders", "customers", "SELECT count(*) FROM orders", 0.01),
    DemoQuery("lines", "customers", "SELECT count(*) FROM lineitem", 0.01),
    DemoQuery(
        "revenue",
        "customers",
        f"SELECT {REVENUE} AS revenue\n"
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey",
        0.01,
    ),
    DemoQuery(
        "Q5 join",
        "customers and suppliers",
        f"SELECT {REVENUE} AS revenue\n"
        "FROM customer, orders, lineitem, supplier\n"
        "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey\n"
        "  AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey",
        0.05,
    ),
    DemoQuery(
        "edges",
        "customers",
        "SELECT count(*) FROM knows k\nJOIN customer a ON k.src = a.c_custkey JOIN customer b ON k.dst = b.c_custkey",
        0.05,
    ),
    DemoQuery(
        "triangles",
        "customers",
        "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src\nJOIN knows c ON a.src = c.src AND b.dst = c.dst",
        0.05,
    ),
    DemoQuery(
        "by nation",
        "customers",
        f"SELECT n_name, {REVENUE} AS revenue\n"
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey\n"
        "JOIN nation ON c_nationkey = n_nationkey\nGROUP BY n_name",
        0.10,
    ),
)
