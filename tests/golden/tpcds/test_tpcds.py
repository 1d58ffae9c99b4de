"""The 99 queries of TPC-DS: the table of verdicts, and every answered one executed."""

from __future__ import annotations

import pytest

from planner.policy.validate import validate
from server.backends.backend import NUMBERS, with_nan
from tests.golden.executed import Database, assert_same_rows, executed
from tests.golden.refusal_lines import assert_plain_words
from tests.golden.tpcds.queries import TPCDS
from tests.golden.tpcds.write_table import TABLE, table
from tests.support.seeds import sampled

EMPTY = {4, 8, 54}
"""Questions that no row answers at the tests' scale."""

_KNOWN = "cs_bill_customer_sk IS NOT NULL"
ORDERS = (
    f"""SELECT count(*), sum(cs_net_profit) FROM catalog_sales cs1 WHERE {_KNOWN} AND EXISTS (SELECT * FROM
    catalog_sales cs2 WHERE cs1.cs_order_number = cs2.cs_order_number AND cs1.cs_warehouse_sk <> cs2.cs_warehouse_sk)
    AND NOT EXISTS (SELECT * FROM catalog_returns cr1 WHERE cs1.cs_order_number = cr1.cr_order_number)""",
    f"""WITH wh AS (SELECT cs1.cs_order_number FROM catalog_sales cs1, catalog_sales cs2 WHERE
    cs1.cs_order_number = cs2.cs_order_number AND cs1.cs_warehouse_sk <> cs2.cs_warehouse_sk)
    SELECT count(DISTINCT cs_order_number) FROM catalog_sales WHERE {_KNOWN} AND cs_order_number IN
    (SELECT cs_order_number FROM wh) AND cs_order_number NOT IN (SELECT cr_order_number FROM catalog_returns)""",
    f"""SELECT count(*), avg(n) FROM (SELECT cs_order_number, count(*) AS n FROM catalog_sales WHERE {_KNOWN}
    GROUP BY cs_order_number HAVING count(*) > 1) o""",
    f"""SELECT count(*), count(CASE WHEN EXISTS (SELECT 1 FROM catalog_returns r WHERE r.cr_order_number =
    cs_order_number) THEN 1 END) FROM catalog_sales WHERE {_KNOWN} AND cs_quantity >
    (SELECT avg(cs_quantity) FROM catalog_sales o WHERE o.cs_order_number = catalog_sales.cs_order_number)""",
    f"""SELECT count(*), count(b.cs_item_sk) FROM catalog_sales a LEFT JOIN catalog_sales b
    ON b.cs_order_number = a.cs_order_number AND b.cs_item_sk > a.cs_item_sk WHERE a.{_KNOWN}""",
)
"""Questions about orders of known customers, by `one_owner`."""


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


def test_the_policy_fits_the_catalog() -> None:
    validate(TPCDS.policy, TPCDS.schema)


def test_an_adapted_text_works_where_the_published_one_does_not() -> None:
    for number in sampled([number for number in TPCDS.numbers if TPCDS.adapted(number)], 8):
        text = TPCDS.adapted(number)
        if text is not None:
            assert text.startswith("-- "), "its first line says what differs"
            assert TPCDS.outcome(text).answers, TPCDS.outcome(text).refusal
            assert not TPCDS.outcome(TPCDS.published(number)).answers, number


@pytest.mark.slow
def test_a_refusal_says_where_and_why() -> None:
    """Nothing is refused without a place in the text and something to do about it."""
    for number in TPCDS.numbers:
        assert TPCDS.verdict(number) != "refused", number
        refusal = TPCDS.outcome(TPCDS.published(number)).refusal
        if refusal is not None:
            assert refusal.hint, number
            assert_plain_words(TPCDS.published(number), refusal)


def test_the_answer_is_the_databases_own(on_duckdb: Database) -> None:
    _assert_answers(on_duckdb)


@pytest.mark.slow
def test_so_it_is_on_postgres(on_postgres: Database) -> None:
    _assert_answers(on_postgres)
    for name, of_file in TPCDS.schema.tables.items():
        found = on_postgres.schema.tables[name]
        written = with_nan(of_file, NUMBERS)  # a numeric of PostgreSQL may be NaN
        assert (written.columns, written.unique_keys) == (found.columns, found.unique_keys)
        assert set(written.foreign_keys) == set(found.foreign_keys)


def _assert_answers(database: Database) -> None:
    """Planned again over the catalog that the database shows, without truncation and noise."""
    for number in sampled(TPCDS.numbers, 6):
        text = TPCDS.text(number)
        expected = database.run(text)
        assert expected or number in EMPTY, number
        assert_same_rows(executed(text, database, TPCDS.policy), expected)
    for text in ORDERS:
        assert_same_rows(executed(text, database, TPCDS.policy), database.run(text))
