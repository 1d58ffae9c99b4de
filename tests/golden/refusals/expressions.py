"""Expressions that are no total function of one join tuple."""

from __future__ import annotations

from planner.errors import SensitivityUnbounded, UndefinedOperator, UnknownColumn, UnreadableMoment, UnsupportedSQL
from tests.golden.refusals.refusal import Refusal

_ORDERS = "SELECT count(*) FROM orders"

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
    Refusal("SELECT count(*) FROM orders ^TABLESAMPLE SYSTEM (10)", UnsupportedSQL, "TABLESAMPLE", "BERNOULLI"),
    Refusal("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (10) ^REPEATABLE (1)", UnsupportedSQL, "REPEATABLE"),
    Refusal("SELECT count(*) FROM orders ^FOR UPDATE", UnsupportedSQL, "FOR UPDATE"),
)

NOT_TOTAL = (
    Refusal(f"{_ORDERS} WHERE o_comment ^->> 'kind' = 'new'", UnsupportedSQL, "operator ->>",
     "computed column"),
    Refusal("SELECT o_comment::text ^-> 'kind', count(*) FROM orders GROUP BY 1", UnsupportedSQL, "operator ->",
     "GENERATED"),
    Refusal(f"{_ORDERS} WHERE (o_comment ^#>> 'a') = 'new'", UnsupportedSQL, "operator #>>", "GENERATED"),
    Refusal(f"{_ORDERS} WHERE o_comment ^@> 'new'", UnsupportedSQL, "operator @>", "GENERATED"),
    Refusal(f"{_ORDERS} WHERE 1 < 2 AND 'new' ^<@ o_comment", UnsupportedSQL, "operator <@", "GENERATED"),
    Refusal(f"{_ORDERS} WHERE ^o_comment ~ '(a+)+$'", UnsupportedSQL, "regular expression", "LIKE",
     f"{_ORDERS} WHERE o_comment LIKE '%aa%'"),
    Refusal(f"{_ORDERS} WHERE o_comment ^SIMILAR TO 'a+'", UnsupportedSQL, "SIMILAR TO", "LIKE",
     f"{_ORDERS} WHERE o_comment LIKE 'a%'"),
    Refusal(f"{_ORDERS} WHERE o_comment LIKE ^o_clerk", UnsupportedSQL, "LIKE"),
    Refusal(f"{_ORDERS} WHERE ^CAST(o_comment AS integer) = 1", UnsupportedSQL, "CAST"),
    Refusal("SELECT sum(l_extendedprice / ^0) FROM lineitem", UnsupportedSQL, "zero", "another number",
     "SELECT sum(l_extendedprice / 2) FROM lineitem"),
    Refusal("SELECT sum(^sqrt(l_quantity - 10)) FROM lineitem", SensitivityUnbounded, "sqrt()", "sqrt(abs(x))",
     "SELECT sum(sqrt(abs(l_quantity - 10))) FROM lineitem"),
    Refusal("SELECT sum(^ln(l_discount)) FROM lineitem", SensitivityUnbounded, "logarithm", "greatest(x, 1)",
     "SELECT sum(ln(greatest(l_quantity, 1))) FROM lineitem"),
    Refusal(f"{_ORDERS} WHERE ^o_orderdate = 5", UndefinedOperator, "date", "type"),
    Refusal("SELECT count(*) FROM lineitem WHERE l_shipdate < date ^'1994-02-30'", UnreadableMoment, "date"),
)  # fmt: skip
