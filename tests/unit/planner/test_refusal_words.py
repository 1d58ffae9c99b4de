"""What is asked of the collected statements' tables and refused: where, and in words that an analyst reads."""

from __future__ import annotations

from planner.errors import PlannerError
from planner.plan import Plan
from planner.rewriting.rewrite import rewrite
from planner.schema import Dialect
from tests.golden.benchmark import planned
from tests.golden.collected.outcomes import policy, schema
from tests.golden.refusal_lines import assert_plain_words

_DIVISION = "SELECT round(salary / 1000), count(*) FROM employees GROUP BY ^round(salary / 1000)"

# statement with ^ where the refusal points, words of its message, words of its hint
_ASKED: list[tuple[str, str, str]] = [
    ("SELECT count(*) FROM orders o WHERE freight > 9 OR EXISTS (^SELECT 1 FROM orders x WHERE x.status = o.status)",
     "EXISTS over rows of other owners", "the key of the person who owns its rows"),
    ("SELECT count(*) FROM orders WHERE freight = 9 OR freight > (^SELECT freight FROM orders LIMIT 1)",
     "LIMIT inside a scalar subquery", "max(x) or min(x)"),
    ("SELECT count(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id AND EXISTS"
     " (^SELECT 1 FROM products WHERE brand = o.status)", "in the ON of a LEFT JOIN", "in a CASE"),
    ("SELECT customer_id, rank() OVER (ORDER BY count(*)) FROM orders GROUP BY ^customer_id",
     "no group of customers", "count(DISTINCT customer_id)"),
    ("SELECT count(*) FROM orders WHERE (^status, channel) = ('a', 'b', 'c')", "rows of unequal length", "as many"),
    ("SELECT count(*) FROM orders WHERE (^status, channel) IN (('a', 'b', 'c'))", "unequal length", "as many"),
    ("SELECT count(*) FROM orders WHERE freight > ^ALL (SELECT unit_price FROM products)", "ALL", "IS NOT TRUE"),
    ("SELECT count(*) FROM orders WHERE (^status, channel) NOT IN (SELECT brand, brand FROM products)",
     "NOT IN of rows that may be NULL", "write NOT EXISTS"),
    ("SELECT count(*) FROM orders WHERE freight > ^ANY (SELECT unit_price FROM products)", "ANY", "WHERE x > y"),
    ("SELECT count(*) FROM orders ^SEMI JOIN customers USING (customer_id)", "SEMI JOIN", "WHERE EXISTS"),
    ("SELECT count(*) FROM reviews r JOIN ^order_items i ON r.product_id = i.product_id", "no key connects",
     "along"),
    ("SELECT count(*) FROM orders WHERE ^freight::money > 5", "money", "numeric"),
    ("SELECT count(DISTINCT customer_id) FROM ^orders TABLESAMPLE BERNOULLI (10)", "of a sample",
     "without sampling"),
    ("SELECT count(*) FROM customers c LEFT JOIN ^orders o TABLESAMPLE BERNOULLI (10)"
     " ON o.customer_id = c.customer_id", "TABLESAMPLE", "on its left"),
    ("SELECT ^TOP 5 country, count(*) FROM customers GROUP BY country", "TOP", "LIMIT 5"),
    ("SELECT ^TOP (5) country, count(*) FROM customers GROUP BY country", "top", "LIMIT 5"),
    ("SELECT country, count(*) FROM customers GROUP BY country LIMIT 5^, 10", "LIMIT takes one number", "OFFSET 5"),
    ("SELECT country, count(*) FROM customers GROUP BY country ^QUALIFY row_number() OVER (ORDER BY count(*)) < 3",
     "QUALIFY", "with its rank into FROM"),
    ("SELECT count(*) FROM orders WHERE ^ROW(status, channel) = ROW('a', 'b')", "row", "leave the word out"),
    ("SELECT ^ISNULL(city, 'x'), count(*) FROM customers GROUP BY 1", "isnull", "coalesce(x, y)"),
    ("WITH ^RECURSIVE t AS (SELECT customer_id FROM customers UNION SELECT * FROM t) SELECT 1 FROM t",
     "RECURSIVE", "WITH alone"),
    ("SELECT count(*) FROM customers WHERE name ^COLLATE \"C\" = 'a'", "COLLATE", "as it is"),
    ("SELECT count(*) FROM customers WHERE name ^GLOB 'a'", "GLOB", "LIKE"),
    ("SELECT count(*) FROM orders WHERE ^freight & 5 = 1", "the operator &", "columns of their own"),
    ("SELECT sum(freight ^ORDER BY freight) FROM orders", "ORDER BY inside a call", "leave it out"),
    ("SELECT count(*) FORM ^customers", "syntax error at customers", "did you mean FROM?"),
    ("SELECT count(*) FROM customers WERE ^city = 'x'", "syntax error at city", "did you mean WHERE?"),
    ("SELECT country, count(*) FROM customers GRUOP ^BY country", "syntax error at BY", "did you mean GROUP?"),
    ("SELECT country, count(*) FROM customers GROUP ^country", "syntax error at country", "write GROUP BY"),
    ("^SELCT count(*) FROM customers", "SELCT", "write SELECT"),
]  # fmt: skip

# what a hint above says, followed
_FOLLOWED = (
    "SELECT count(*) FROM order_items WHERE unit_price > 41.4",
    "SELECT count(*) / count(DISTINCT customer_id) FROM orders",
    "SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM products WHERE (freight > unit_price) IS NOT TRUE)",
    "SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM products WHERE freight > unit_price)",
    "SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM products WHERE brand = status AND brand = channel)",
    "SELECT count(*) FROM orders o WHERE freight > 9 OR EXISTS (SELECT 1 FROM orders x WHERE x.status = o.status"
    " AND x.customer_id = o.customer_id)",
    "SELECT count(*) FROM orders WHERE (status, channel) = ('a', 'b')",
    "SELECT country, count(*) FROM customers GROUP BY country LIMIT 10 OFFSET 5",
    "SELECT country, n FROM (SELECT country, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS r"
    " FROM customers GROUP BY country) AS g WHERE r < 3",
    "SELECT coalesce(city, 'x'), count(*) FROM customers GROUP BY 1",
    "SELECT floor(salary / 1000::double precision), count(*) FROM employees GROUP BY 1",
    "SELECT count(o.order_id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id"
    " LEFT JOIN reviews r ON r.customer_id = c.customer_id",
)


def _refusal(sql: str, dialect: Dialect = "postgres") -> PlannerError | None:
    try:
        plan = planned(sql, schema(), policy(), dialect)
        if isinstance(plan, Plan):
            rewrite(plan, dialect=dialect, schema=schema())
    except PlannerError as error:
        return error
    return None


def test_it_names_what_is_written() -> None:
    for marked, says, hints in _ASKED:
        error = _refusal(marked.replace("^", ""))
        assert error is not None and error.hint is not None
        assert says in error.message and hints in error.hint
        assert error.position == marked.index("^") + 1
        assert_plain_words(marked.replace("^", ""), error)


def test_a_hint_works_when_followed() -> None:
    cases: list[Dialect] = ["postgres", "duckdb"]
    for dialect in cases:
        for sql in _FOLLOWED:
            assert _refusal(sql, dialect) is None


def test_of_a_division_on_duckdb() -> None:
    error = _refusal(_DIVISION.replace("^", ""), "duckdb")
    assert error is not None and error.hint is not None
    assert "double precision" in error.hint and error.position is not None
    assert _DIVISION.replace("^", "")[error.position - 1 :].startswith("salary")
