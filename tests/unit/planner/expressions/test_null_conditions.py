"""NULL in conditions is SQL's third truth value: constants are worked out, and what is left is planned."""

from __future__ import annotations

import pytest
from sqlglot import exp

from planner.errors import UnknownColumn
from tests.support.planning import planned

NEVER = "CAST(NULL AS BOOLEAN)"
STATUS, PRICE = '"orders_0"."o_orderstatus"', '"orders_0"."o_totalprice"'

MEANINGS = {
    # The optional filter of report tools, with and without a value.
    "(NULL::text IS NULL OR o_orderstatus = NULL)": None,
    "(NULL IS NULL OR o_orderstatus = NULL)": None,
    "('F'::text IS NULL OR o_orderstatus = 'F'::text)": f"{STATUS} = 'F'",
    "('F' IS NULL OR o_orderstatus = 'F')": f"{STATUS} = 'F'",
    # What is compared with NULL is NULL, and NOT of it too.
    "o_orderstatus = NULL": NEVER,
    "NOT (o_orderstatus = NULL)": NEVER,
    "NULL = NULL": NEVER,
    "NULL": NEVER,
    "o_totalprice + NULL > 3": NEVER,
    "o_orderstatus LIKE NULL": NEVER,
    "o_orderstatus IN (NULL)": NEVER,
    "o_orderstatus NOT IN (NULL)": NEVER,
    "o_orderstatus IN ('F', NULL)": f"(({STATUS} IN ('F')) OR {NEVER})",
    "o_orderstatus NOT IN ('F', NULL)": f"NOT (({STATUS} IN ('F')) OR {NEVER})",
    "o_totalprice BETWEEN NULL AND 5": f"({PRICE} <= 5) AND {NEVER}",
    "o_totalprice BETWEEN 5 AND NULL": f"({PRICE} >= 5) AND {NEVER}",
    # Of AND and OR what decides, and what does not.
    "(TRUE OR o_orderstatus = 'F')": None,
    "(FALSE OR o_orderstatus = 'F')": f"{STATUS} = 'F'",
    "NOT (FALSE AND o_orderstatus = 'F')": None,
    "NOT (FALSE AND o_orderstatus = NULL)": None,
    "1 = 1": None,
    "1 = 2": "FALSE",
    "'a' <> 'b'": None,
    "1.0 = 1": None,
    # IS is never NULL.
    "(NULL = 1) IS TRUE": "FALSE",
    "(NULL = 1) IS NOT FALSE": None,
    "(1 = 1) IS TRUE": None,
    "o_orderstatus IS DISTINCT FROM NULL": f"{STATUS} IS NOT NULL",
    "o_orderstatus IS NOT DISTINCT FROM NULL::text": f"{STATUS} IS NULL",
}


@pytest.mark.parametrize("condition", MEANINGS)
def test_a_condition_means_what_postgresql_says(condition: str) -> None:
    where = planned(f"SELECT count(*) FROM orders WHERE {condition}").source.args.get("where")
    found = None if where is None else where.this
    assert (None if found is None else found.sql("postgres")) == MEANINGS[condition]


def test_it_decides_where_else_conditions_stand() -> None:
    filtered = planned("SELECT count(*) FILTER (WHERE NULL IS NULL) FROM orders")
    assert filtered.releases[0].weight.find(exp.If).this == exp.true()  # type: ignore[union-attr]
    cased = planned("SELECT sum(CASE WHEN NULL THEN 1 ELSE 2 END) FROM orders")
    assert isinstance(cased.releases[0].weight.find(exp.Case).args["ifs"][0].this, exp.Cast)  # type: ignore[union-attr]


def test_a_column_that_is_not_there_is_still_refused() -> None:
    with pytest.raises(UnknownColumn):
        planned("SELECT count(*) FROM orders WHERE nothing = NULL")


def test_groups_of_what_no_row_passes_are_none() -> None:
    """A plan of no row is answered without a charge, as LIMIT 0 is."""
    for never in ("1 = 2", "NULL", "c_nationkey = NULL", "c_nationkey IN (NULL) AND c_acctbal > 3"):
        assert planned(f"SELECT c_nationkey, count(*) FROM customer WHERE {never} GROUP BY 1").display.limit == 0, (
            never
        )
