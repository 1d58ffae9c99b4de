"""Names, statements and limits."""

from __future__ import annotations

from planner.errors import (
    AmbiguousColumn,
    InvalidSyntax,
    ReadOnly,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.limits import MAX_TABLES
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"

NAMES_AND_SHAPE = (
    Refusal("SELECT count(*) FROM ^payments", UnknownTable, "payments"),
    Refusal("SELECT count(*) FROM ^pg_catalog.pg_class", UnknownTable, "pg_class"),
    Refusal("SELECT count(*) FROM ^information_schema.tables", UnknownTable, "tables"),
    Refusal("SELECT count(*) FROM orders WHERE ^o_colour = 'red'", UnknownColumn, "o_colour"),
    Refusal("SELECT o_orderstatus, count(*) AS n FROM orders WHERE ^n > 5 GROUP BY 1", UnknownColumn, "'n'", "HAVING",
     "SELECT o_orderstatus, count(*) AS n FROM orders GROUP BY 1 HAVING count(*) > 5"),
    Refusal("SELECT o_orderstatus AS s, count(*) FROM orders WHERE ^s = 'F' GROUP BY s", UnknownColumn, "'s'",
     "the expression itself", "SELECT o_orderstatus AS s, count(*) FROM orders WHERE o_orderstatus = 'F' GROUP BY s"),
    Refusal("SELECT count(*) FROM orders WHERE o_orderstatus = ^\"o_orderstat\"", UnknownColumn, "o_orderstat",
     "single quotes", "SELECT count(*) FROM orders WHERE o_orderstatus = 'o_orderstat'"),
    Refusal("SELECT o_orderstatus count^(*) FROM orders GROUP BY o_orderstatus", InvalidSyntax, "syntax error",
     "a comma before count", "SELECT o_orderstatus, count(*) FROM orders GROUP BY o_orderstatus"),
    Refusal("SELECT count(* ^FROM orders", InvalidSyntax, "FROM", "close each bracket", _ORDERS),
    Refusal("SELECT count(*) FROM orders LIMIT 5^, 10", InvalidSyntax, "LIMIT", "LIMIT 10 OFFSET 5",
     "SELECT count(*) FROM orders LIMIT 10 OFFSET 5"),
    Refusal("SELECT count(*) FROM knows a, knows b WHERE a.dst = ^src", AmbiguousColumn, "src", "dot",
     "SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src"),
    Refusal("SELECT count(*) FROM knows, ^knows", InvalidSyntax, "knows", "alias",
     "SELECT count(*) FROM knows a, knows b WHERE a.dst = b.src"),
    Refusal("SELECT count(*) FROM customer JOIN orders USING (^custkey)", UnknownColumn, "custkey"),
    Refusal("^DELETE FROM orders", ReadOnly, "DELETE"), Refusal("^COPY orders TO '/tmp/x'", ReadOnly, "COPY"),
    Refusal("^DROP TABLE orders", ReadOnly, "DROP"), Refusal("^SET ROLE postgres", UnsupportedSQL, "SET", "SELECT"),
    Refusal("SELECT count(*) FROM orders^; DROP TABLE orders", InvalidSyntax, "one statement", "one at a time",
     _ORDERS),
    Refusal("SELECT o_orderkey, count(*) ^INTO x FROM orders GROUP BY 1", UnsupportedSQL, "INTO"),
    Refusal("SELECT count(*) FROM orders WHERE " + "(" * 24 + "^(true" + ")" * 25, StatementTooComplex, "nest",
     "parenth", _ORDERS),
    Refusal("SELECT count(*) FROM knows k0" + "".join(f", knows k{i}" for i in range(1, MAX_TABLES)) + ", ^knows z",
     StatementTooComplex, "tables"),
)  # fmt: skip
