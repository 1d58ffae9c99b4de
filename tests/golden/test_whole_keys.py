"""Whole numbers made of numerics: a NaN, or a value beyond the declared range, fails no statement."""

from __future__ import annotations

import pytest

from planner.rewriting.rewrite import to_sql
from tests.golden.untruncated import postgres
from tests.support.planning import planned

_ROWS = "(VALUES ('NaN'::numeric(15,2)), (7), (49.99), (1e12), (-1), (NULL)) AS lineitem_0 (l_quantity)"


def test_a_bucket_of_anything(embedded_url: str) -> None:
    """A key fails for no number; rows beyond the range are kept from it by a condition of its own."""
    for key, expected in [
        ("floor(l_quantity / 10)", [None, 0, 4, None, None, None]),
        ("10 * floor(l_quantity::float8 / 10)", [None, 0, 40, 50, 0, None]),
        ("l_quantity::int", [None, 7, 50, None, None, None]),
        ("round(l_quantity, -1)::bigint", [None, 10, 50, None, 0, None]),
    ]:  # fmt: skip
        (group,) = planned(f"SELECT {key}, count(*) FROM lineitem GROUP BY 1").group_keys
        rows = postgres(embedded_url)(f"SELECT {to_sql(group.key)} FROM {_ROWS}")
        assert [row[0] for row in rows] == expected


def test_distinct_values_of_anything(embedded_url: str) -> None:
    """NaN equals itself, as a numeric; as a whole number it is none."""
    for value, expected in (("l_quantity", 5), ("l_quantity::int", 4)):
        (release,) = planned(f"SELECT count(DISTINCT {value}) FROM lineitem").releases
        assert release.distinct is not None
        ((found,),) = postgres(embedded_url)(f"SELECT count(DISTINCT {to_sql(release.distinct)}) FROM {_ROWS}")
        assert found == expected


@pytest.fixture(scope="module")
def embedded_url(tpch_owner_url: str) -> str:
    """Any database: the rows stand in the statement."""
    return tpch_owner_url
