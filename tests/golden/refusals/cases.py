"""Constructs over TPC-H that have no sound answer, each with its error, its place, and the way out."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import (
    AmbiguousColumn,
    InvalidSyntax,
    PlannerError,
    ReadOnly,
    SensitivityUnbounded,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)

MARK = "^"


@dataclass(frozen=True)
class Refusal:
    """One refused statement.

    Attributes:
      marked: the statement, with MARK where the error must point.
      error: what is raised.
      says: how the message names the construct.
      hints: a part of the hint; None where nothing can be written instead.
      instead: what somebody writes who follows the hint; it must plan.
    """

    marked: str
    error: type[PlannerError]
    says: str
    hints: str | None = None
    instead: str | None = None

    @property
    def sql(self) -> str:
        """What the analyst sends."""
        return self.marked.replace(MARK, "")

    @property
    def position(self) -> int:
        """1-based."""
        return self.marked.index(MARK) + 1


_ORDERS = "SELECT count(*) FROM orders"
_JOINED = "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey"

NOT_MONOTONE = (
    Refusal(
        f"{_ORDERS} WHERE ^EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
        UnsupportedSQL,
        "EXISTS",
        "COUNT(DISTINCT",
        "SELECT count(DISTINCT o_orderkey) FROM orders JOIN lineitem ON l_orderkey = o_orderkey",
    ),
    Refusal(
        "SELECT count(*) FROM customer WHERE NOT ^EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
        UnsupportedSQL,
        "EXISTS",
    ),
    Refusal(
        f"{_ORDERS} WHERE o_custkey IN (^SELECT c_custkey FROM customer WHERE c_nationkey = 1)",
        UnsupportedSQL,
        "subquery in IN",
        "join",
        f"{_JOINED} WHERE c_nationkey = 1",
    ),
    Refusal(f"{_ORDERS} WHERE o_custkey NOT IN (^SELECT c_custkey FROM customer)", UnsupportedSQL, "subquery in IN"),
    Refusal(
        "SELECT count(*) FROM lineitem WHERE l_quantity < (^SELECT avg(l_quantity) FROM lineitem)",
        UnsupportedSQL,
        "subquery",
        "literal",
        "SELECT count(*) FROM lineitem WHERE l_quantity < 25.5",
    ),
    Refusal(
        f"{_ORDERS} WHERE o_custkey = ^ANY (SELECT c_custkey FROM customer)", UnsupportedSQL, "ANY", "join", _JOINED
    ),
    Refusal(f"{_ORDERS} WHERE o_totalprice > ^ALL (SELECT c_acctbal FROM customer)", UnsupportedSQL, "ALL"),
    Refusal(
        "SELECT count(*) FROM customer ^LEFT JOIN orders ON c_custkey = o_custkey",
        UnsupportedSQL,
        "LEFT JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM orders ^RIGHT JOIN customer ON c_custkey = o_custkey",
        UnsupportedSQL,
        "RIGHT JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM customer ^FULL JOIN orders ON c_custkey = o_custkey",
        UnsupportedSQL,
        "FULL JOIN",
        "inner JOIN",
        _JOINED,
    ),
    Refusal(
        "SELECT count(*) FROM orders ^UNION ALL SELECT count(*) FROM lineitem",
        UnsupportedSQL,
        "UNION",
        "one after the other",
        _ORDERS,
    ),
    Refusal("SELECT count(*) FROM orders ^INTERSECT SELECT count(*) FROM lineitem", UnsupportedSQL, "INTERSECT"),
    Refusal("SELECT count(*) FROM orders ^EXCEPT SELECT count(*) FROM lineitem", UnsupportedSQL, "EXCEPT"),
    Refusal(
        "SELECT count(*) FROM (SELECT ^DISTINCT o_custkey FROM orders) AS buyers",
        UnsupportedSQL,
        "DISTINCT",
        "COUNT(DISTINCT",
        "SELECT count(DISTINCT o_custkey) FROM orders",
    ),
    Refusal(
        "SELECT ^DISTINCT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority",
        UnsupportedSQL,
        "DISTINCT",
        "GROUP BY",
        "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority",
    ),
    Refusal("SELECT count(*) FROM (SELECT ^count(*) AS n FROM orders) AS x", UnsupportedSQL, "aggregate"),
    Refusal(
        "SELECT count(*) FROM (SELECT o_custkey FROM orders ^GROUP BY o_custkey) AS x",
        UnsupportedSQL,
        "GROUP BY",
    ),
    Refusal("WITH x AS (SELECT o_orderkey FROM orders ^LIMIT 10) SELECT count(*) FROM x", UnsupportedSQL, "LIMIT"),
    Refusal("SELECT count(*) FROM (SELECT o_orderkey FROM orders ^OFFSET 10) AS x", UnsupportedSQL, "OFFSET"),
    Refusal("SELECT ^count(*) OVER () FROM orders", UnsupportedSQL, "window"),
    Refusal(
        "WITH ^RECURSIVE x AS (SELECT src FROM knows) SELECT count(*) FROM x",
        UnsupportedSQL,
        "RECURSIVE",
        "WITH",
        "WITH x AS (SELECT src FROM knows) SELECT count(*) FROM x",
    ),
    Refusal(
        "SELECT count(*) FROM customer, ^LATERAL (SELECT o_orderkey FROM orders WHERE o_custkey = c_custkey) AS x",
        UnsupportedSQL,
        "LATERAL",
        "join",
        _JOINED,
    ),
    Refusal("SELECT count(*) FROM ^generate_series(1, 10)", UnsupportedSQL, "generate_series"),
    Refusal("SELECT count(*) FROM orders, (^VALUES (1), (2)) AS v(x)", UnsupportedSQL, "VALUES"),
)

NOT_A_FUNCTION_OF_THE_TUPLE = (
    Refusal(f"{_ORDERS} WHERE ^random() < 0.5", UnsupportedSQL, "random"),
    Refusal(f"{_ORDERS} WHERE o_clerk = ^current_user", UnsupportedSQL, "current_user"),
    Refusal(f"{_ORDERS} WHERE ^ctid IS NULL", UnknownColumn, "ctid"),
    Refusal(f"{_ORDERS} WHERE ^clock_timestamp() > o_orderdate", UnsupportedSQL, "clock_timestamp"),
    Refusal(f"{_ORDERS} WHERE ^pg_sleep(1) IS NULL", UnsupportedSQL, "pg_sleep"),
    Refusal(f"{_ORDERS} WHERE ^pg_read_file('/etc/passwd') = o_clerk", UnsupportedSQL, "pg_read_file"),
    Refusal(f"{_ORDERS} WHERE ^lo_import('/etc/passwd') = 1", UnsupportedSQL, "lo_import"),
    Refusal(f"{_ORDERS} WHERE ^nextval('s') = 1", UnsupportedSQL, "nextval"),
    Refusal("SELECT count(*) FROM ^dblink('host=x', 'SELECT 1') AS t(x int)", UnsupportedSQL, "dblink"),
    Refusal(f"{_ORDERS} WHERE ^query_to_xml('SELECT 1', true, true, '') IS NULL", UnsupportedSQL, "query_to_xml"),
    Refusal("SELECT count(*) FROM orders ^TABLESAMPLE SYSTEM (10)", UnsupportedSQL, "SYSTEM", "BERNOULLI"),
    Refusal("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (10) ^REPEATABLE (1)", UnsupportedSQL, "REPEATABLE"),
    Refusal("SELECT count(*) FROM orders ^FOR UPDATE", UnsupportedSQL, "FOR UPDATE"),
)

NOT_TOTAL = (
    Refusal(
        f"{_ORDERS} WHERE ^o_comment ~ '(a+)+$'",
        UnsupportedSQL,
        "regular expression",
        "LIKE",
        f"{_ORDERS} WHERE o_comment LIKE '%aa%'",
    ),
    Refusal(
        f"{_ORDERS} WHERE o_comment ^SIMILAR TO 'a%'",
        UnsupportedSQL,
        "SIMILAR TO",
        "LIKE",
        f"{_ORDERS} WHERE o_comment LIKE 'a%'",
    ),
    Refusal(f"{_ORDERS} WHERE o_comment ^LIKE o_clerk", UnsupportedSQL, "LIKE"),
    Refusal(f"{_ORDERS} WHERE ^CAST(o_comment AS integer) = 1", UnsupportedSQL, "CAST"),
    Refusal(
        "SELECT sum(l_extendedprice / ^l_quantity) FROM lineitem",
        UnsupportedSQL,
        "zero",
        "NULLIF",
        "SELECT sum(l_extendedprice / NULLIF(l_quantity, 0)) FROM lineitem",
    ),
    Refusal("SELECT sum(^sqrt(l_quantity - 10)) FROM lineitem", UnsupportedSQL, "sqrt"),
    Refusal("SELECT sum(^ln(l_discount)) FROM lineitem", UnsupportedSQL, "ln"),
    Refusal(f"{_ORDERS} WHERE ^o_orderdate = 5", UnsupportedSQL, "date", "type"),
    Refusal(
        f"{_ORDERS} WHERE o_comment = ^NULL",
        UnsupportedSQL,
        "NULL",
        "IS NULL",
        f"{_ORDERS} WHERE o_comment IS NULL",
    ),
    Refusal("SELECT count(*) FROM lineitem WHERE l_shipdate < ^date '1994-02-30'", InvalidSyntax, "date"),
)

AGGREGATES = (
    Refusal("SELECT ^max(l_quantity) FROM lineitem", UnsupportedSQL, "MAX", "one person"),
    Refusal("SELECT ^min(l_quantity) FROM lineitem", UnsupportedSQL, "MIN", "one person"),
    Refusal(
        "SELECT ^stddev(l_quantity) FROM lineitem",
        UnsupportedSQL,
        "stddev",
        "SUM",
        "SELECT sum(l_quantity), sum(l_quantity * l_quantity), count(*) FROM lineitem",
    ),
    Refusal(
        "SELECT ^percentile_cont(0.5) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem",
        UnsupportedSQL,
        "percentile_cont",
    ),
    Refusal("SELECT ^array_agg(o_custkey) FROM orders", UnsupportedSQL, "array_agg"),
    Refusal("SELECT ^string_agg(o_clerk, ',') FROM orders", UnsupportedSQL, "string_agg"),
    Refusal("SELECT sum(^DISTINCT l_quantity) FROM lineitem", UnsupportedSQL, "DISTINCT"),
    Refusal("SELECT sum(^count(*)) FROM lineitem", UnsupportedSQL, "aggregate"),
    Refusal(
        f"{_ORDERS} WHERE ^count(*) > 1",
        UnsupportedSQL,
        "aggregate",
        "HAVING",
        f"{_ORDERS} HAVING count(*) > 1",
    ),
    Refusal("SELECT sum(^o_clerk) FROM orders", UnsupportedSQL, "o_clerk"),
    Refusal("SELECT ^o_clerk FROM orders", UnsupportedSQL, "aggregate", "COUNT", _ORDERS),
    Refusal("SELECT ^* FROM orders", UnsupportedSQL, "aggregate", "COUNT", _ORDERS),
    Refusal(
        "SELECT ^o_orderpriority, count(*) FROM orders",
        UnsupportedSQL,
        "o_orderpriority",
        "group by",
        "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority",
    ),
    Refusal(
        "SELECT o_orderstatus, count(*) FROM orders GROUP BY ^ROLLUP (o_orderpriority, o_orderstatus)",
        UnsupportedSQL,
        "ROLLUP",
        "plain columns",
        "SELECT o_orderstatus, count(*) FROM orders GROUP BY o_orderpriority, o_orderstatus",
    ),
    Refusal("SELECT count(*) FROM orders GROUP BY ^2", InvalidSyntax, "position"),
    Refusal("SELECT count(*) FROM orders HAVING ^o_totalprice > 5", UnsupportedSQL, "o_totalprice"),
    Refusal("SELECT count(*) FROM orders ORDER BY ^o_totalprice", UnsupportedSQL, "o_totalprice"),
    Refusal(
        "SELECT count(*) FROM orders HAVING count(*) > (^SELECT count(*) FROM customer)",
        UnsupportedSQL,
        "subquery",
        "literal",
        "SELECT count(*) FROM orders HAVING count(*) > 1500",
    ),
)

POLICY = (
    Refusal(
        "SELECT ^o_clerk, count(*) FROM orders GROUP BY o_clerk",
        SensitivityUnbounded,
        "orders.o_clerk",
        "domain",
        "SELECT o_orderpriority, count(*) FROM orders GROUP BY o_orderpriority",
    ),
    Refusal(
        "SELECT sum(^o_shippriority * 2) FROM orders",
        SensitivityUnbounded,
        "orders.o_shippriority",
        "range",
        "SELECT sum(o_totalprice * 2) FROM orders",
    ),
)

NAMES_AND_SHAPE = (
    Refusal("SELECT count(*) FROM ^payments", UnknownTable, "payments"),
    Refusal("SELECT count(*) FROM ^pg_catalog.pg_class", UnknownTable, "pg_class"),
    Refusal("SELECT count(*) FROM ^information_schema.tables", UnknownTable, "tables"),
    Refusal("SELECT count(*) FROM orders WHERE ^o_colour = 'red'", UnknownColumn, "o_colour"),
    Refusal(
        "SELECT count(*) FROM knows a, knows b WHERE a.dst = ^src",
        AmbiguousColumn,
        "src",
        "dot",
        "SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src",
    ),
    Refusal(
        "SELECT count(*) FROM knows, ^knows",
        InvalidSyntax,
        "knows",
        "alias",
        "SELECT count(*) FROM knows a, knows b",
    ),
    Refusal("SELECT count(*) FROM customer JOIN orders USING (^custkey)", UnknownColumn, "custkey"),
    Refusal("^DELETE FROM orders", ReadOnly, "DELETE"),
    Refusal("^COPY orders TO '/tmp/x'", ReadOnly, "COPY"),
    Refusal("^DROP TABLE orders", ReadOnly, "DROP"),
    Refusal("^SET ROLE postgres", UnsupportedSQL, "SET", "SELECT"),
    Refusal(
        "SELECT count(*) FROM orders^; DROP TABLE orders", InvalidSyntax, "one statement", "one at a time", _ORDERS
    ),
    Refusal("SELECT o_orderkey, count(*) ^INTO x FROM orders GROUP BY 1", UnsupportedSQL, "INTO"),
    Refusal(
        "SELECT count(*) FROM orders WHERE " + "(" * 24 + "^(true" + ")" * 25,
        StatementTooComplex,
        "nest",
        "parenth",
        _ORDERS,
    ),
    Refusal(
        "SELECT count(*) FROM knows k0" + "".join(f", knows k{i}" for i in range(1, 16)) + ", ^knows k16",
        StatementTooComplex,
        "tables",
    ),
)

REFUSALS = (*NOT_MONOTONE, *NOT_A_FUNCTION_OF_THE_TUPLE, *NOT_TOTAL, *AGGREGATES, *POLICY, *NAMES_AND_SHAPE)
