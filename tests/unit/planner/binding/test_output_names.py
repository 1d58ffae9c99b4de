"""Columns without an alias are named as PostgreSQL 15 names them."""

from __future__ import annotations

import pytest

from planner.binding.output_names import output_name
from planner.parsing.parse import parse

NAMES = [
    ("var_samp(x)", "var_samp"), ("variance(x)", "variance"), ("var_pop(x)", "var_pop"), ("ceiling(x)", "ceiling"),
    ("ceil(x)", "ceil"), ("pow(x, 2)", "pow"), ("power(x, 2)", "power"), ("mod(i, 2)", "mod"), ("i % 2", "?column?"),
    ("char_length(t)", "char_length"), ("length(t)", "length"), ("trim(t)", "btrim"), ("ltrim(t)", "ltrim"),
    ("trim(LEADING 'a' FROM t)", "ltrim"), ("trim(TRAILING 'a' FROM t)", "rtrim"), ("substr(t, 1, 2)", "substr"),
    ("substring(t FROM 1 FOR 2)", "substring"), ("lpad(t, 3, '0')", "lpad"), ("strpos(t, 'a')", "strpos"),
    ("position('a' IN t)", "position"), ("now()", "now"), ("current_timestamp", "current_timestamp"),
    ("date_trunc('month', d)", "date_trunc"), ("date_part('year', d)", "date_part"), ("Sum(x)", "sum"),
    ("extract(year FROM d)", "extract"), ("d AT TIME ZONE 'UTC'", "timezone"), ("1::bigint", "int8"),
    ("(x > 1)::int", "int4"), ("(x / 2)::numeric(10, 2)", "numeric"), ("sum(x)::int", "sum"),
    ("CASE WHEN x > 1 THEN 1 ELSE i END", "i"), ("CASE WHEN x > 1 THEN 1 ELSE ceiling(x) END", "ceiling"),
    ("CASE WHEN x > 1 THEN i END", "case"), ("CASE WHEN x > 1 THEN i ELSE 0 END::int", "int4"),
    ("var_samp(x) FILTER (WHERE x > 1)", "var_samp"), ("round(var_samp(x)::numeric, 2)", "round"),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "percentile_cont"), ("interval '1 day'", "interval"),
    ("(SELECT max(x) FROM v)", "max"), ("(SELECT max(x) AS most FROM v)", "most"),
    ("x AS y", "y"), ("-x", "?column?"),
]  # fmt: skip


@pytest.mark.parametrize(("item", "name"), NAMES)
def test_as_postgresql_names_it(item: str, name: str) -> None:
    assert output_name(parse(f"SELECT {item} FROM v").expressions[0]) == name
