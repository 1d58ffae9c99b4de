"""What everybody is asked: the question in SQL, as an analyst of Noisegate writes it and as the rows answer it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.benchmarks.comparison.data import GRAPH, HOSPITAL, SHOP, DataSet


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
      name: as the peers' programs name it.
      data: of which data set.
      sql: one value, or a key and a value per row.
      one_owner: whether each row belongs to one person; else to two or more, all of whom are to be protected.
      columns: whose declared range or list of keys the question needs.
      in_duckdb: the question to the rows, where it is spelled otherwise there.
      departs: a query for the person without whom a library that protects one of a row's people fails to protect.
    """

    name: str
    data: DataSet
    sql: str
    one_owner: bool = True
    columns: tuple[str, ...] = ()
    departs: str = ""
    in_duckdb: str = ""

    @property
    def truth(self) -> str:
        """What the rows are asked, where a division means another thing to DuckDB."""
        return self.in_duckdb or self.sql


_BUSIEST = "SELECT supplier_id FROM orders GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
_MOST_NAMED = "SELECT dst FROM knows GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"

QUESTIONS = {
    question.name: question
    for question in (
        Question("visits", HOSPITAL, "SELECT count(*) FROM visit"),
        Question(
            "cost by ward", HOSPITAL, "SELECT ward, sum(cost) FROM visit\nGROUP BY ward", columns=("ward", "cost")
        ),
        Question("average cost", HOSPITAL, "SELECT avg(cost) FROM visit", columns=("cost",)),
        Question("median cost", HOSPITAL, "SELECT median(cost) FROM visit", columns=("cost",)),
        Question("patients with a visit", HOSPITAL, "SELECT count(DISTINCT patient_id) FROM visit"),
        Question(
            "patients by age band",
            HOSPITAL,
            "SELECT age / 10, count(*) FROM patient\nGROUP BY age / 10",
            columns=("age",),
            in_duckdb="SELECT age // 10, count(*) FROM patient GROUP BY 1",
        ),
        Question(
            "revenue by segment",
            SHOP,
            "SELECT segment, sum(price) FROM orders\nJOIN customer USING (customer_id) GROUP BY segment",
            columns=("segment", "price"),
        ),
        Question(
            "orders within a nation",
            SHOP,
            "SELECT count(*) FROM orders o\nJOIN customer c ON c.customer_id = o.customer_id\n"
            "JOIN supplier s ON s.supplier_id = o.supplier_id\nWHERE c.nation = s.nation",
            one_owner=False,
            departs=_BUSIEST,
        ),
        Question("edges", GRAPH, "SELECT count(*) FROM knows", one_owner=False, departs=_MOST_NAMED),
        Question(
            "2-paths",
            GRAPH,
            "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src",
            one_owner=False,
            departs=_MOST_NAMED,
        ),
        Question(
            "triangles",
            GRAPH,
            "SELECT count(*) FROM knows a\nJOIN knows b ON a.dst = b.src\n"
            "JOIN knows c ON a.src = c.src AND b.dst = c.dst",
            one_owner=False,
            departs=_MOST_NAMED,
        ),
    )
}
