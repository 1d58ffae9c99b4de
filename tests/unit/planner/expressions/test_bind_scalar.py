from __future__ import annotations

from datetime import date

import pytest
from sqlglot import exp

from planner.errors import PlannerError, SensitivityUnbounded, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.expressions.datetimes import age, refused_clock
from planner.expressions.functions import TABLE
from planner.expressions.intervals import Bounds
from planner.parsing.grammar import why_refused
from planner.parsing.parse import read
from planner.policy.policy import ColumnPolicy
from tests.support.function_examples import EXAMPLES_OF
from tests.support.hostile import HostileNames
from tests.support.refused import assert_refused

NAMES = HostileNames(-100.0, 1000.0, (date(1992, 1, 1), date(1998, 12, 31)))
POSITIVE = HostileNames(0.0, 50.0)


class _Unranged(HostileNames):
    def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
        return f"h.{column.name}", ColumnPolicy()


def test_every_function_has_examples() -> None:
    of_a_clock_or_within_another = {row for row, what in TABLE.items() if what.bind in (refused_clock, age)}
    assert set(EXAMPLES_OF) == set(TABLE) - of_a_clock_or_within_another


def parsed(text: str) -> exp.Expr:
    node: exp.Expr = read(f"SELECT {text}").tree.selects[0]
    return node


def bounds(text: str, names: HostileNames = NAMES, *given: str) -> tuple[float, float]:
    found: Bounds = bind_measure(parsed(text), names, [parsed(condition) for condition in given])[1]
    return found.lo, found.hi


def test_an_expression_has_the_bounds_that_follow_from_its_columns() -> None:
    for text, low, high in [
        ("i", -100, 1000), ("i * i", 0, 1e6), ("(n + 1) * (n + 1)", 0, 1001**2), ("abs(i)", 0, 1000),
        ("i - i", -1100, 1100), ("n * (1 - n)", -999_000, 101_000), ("i / 7", -14, 142), ("i % 7", -6, 6),
        ("mod(n, 0.5)", -0.5, 0.5), ("n / NULLIF(n, 0)", -100_000, 100_000), ("f / (i * i + 1)", -100, 1000),
        ("sign(f)", -1, 1), ("round(n)", -100, 1000), ("round(n, -2)", -100, 1000), ("least(i, 5)", -100, 5),
        ("greatest(i, 5)", 5, 1000), ("greatest(i, j)", -100, 1000), ("coalesce(i, 5000)", -100, 5000),
        ("sqrt(abs(f))", 0, 1000**0.5), ("length(v)", 0, 10), ("length(left(t, 3))", 0, 3),
        ("length(v || c)", 0, 15), ("position('a' IN v)", 0, 11), ("extract(year FROM d)", 1992, 1998),
        ("extract(month FROM d)", 1, 12), ("extract(dow FROM s)", 0, 6), ("extract(second FROM s)", 0, 60),
        ("extract(isoyear FROM d)", 1992, 1998), ("extract(decade FROM d)", 199, 199),
        ("extract(epoch FROM s - s)", -2557 * 86400, 2557 * 86400), ("extract(year FROM age(d, d))", -6, 6),
        ("extract(year FROM age(timestamp '2000-01-01', d))", 1, 8),
        ("extract(year FROM d + (interval '40 days'))", 1992, 1999), ("width_bucket(n, 0, 10, 5)", 0, 6),
        ("width_bucket(f, -0.5, 10, 5)", 0, 6), ("length(to_char(d, 'YYYY-MM'))", 0, 7),
        ("length(replace(v, 'ab', 'xyz'))", 0, 15), ("length(concat(v, '-', b, c, NULL))", 0, 17),
        ("length(concat_ws(', ', v, b))", 0, 15), ("length(v::varchar(3))", 0, 3), ("d - d", -2556, 2556),
        ("CASE WHEN b THEN 2 ELSE -3 END", -3, 2), ("CASE WHEN b THEN 2 END", 2, 2), ("NULL", 0, 0),
        ("b::int", 0, 1),
    ]:  # fmt: skip
        found = bounds(text)
        assert found == pytest.approx((low, high), rel=1e-9, abs=1e-9)


def test_conditions_narrow_their_branches() -> None:
    for text, low, high in [
        ("CASE WHEN i > 0 THEN i ELSE 0 END", 0, 1000), ("CASE WHEN i > 0 THEN i ELSE -i END", 0, 1000),
        ("CASE WHEN i > 0 THEN 1000 / i END", 1, 1000), ("CASE WHEN n > 0 THEN 10 / n END", 0.01, 1000),
        ("CASE WHEN 5 >= n AND n > 2 THEN n END", 2.01, 5), ("CASE WHEN i BETWEEN 3 AND 4 THEN i END", 3, 4),
        ("CASE WHEN NOT (i < 3 OR i > 4) THEN i END", 3, 4),
        ("CASE WHEN i < 3 THEN 0 WHEN i < 5 THEN i ELSE i - 1000 END", -995, 4),
        ("CASE WHEN i = 7 THEN i ELSE 7 END", 7, 7), ("CASE WHEN i <> 7 THEN 7 ELSE i END", 7, 7),
        ("CASE i WHEN 3 THEN i ELSE 3 END", 3, 3), ("CASE WHEN i > 5000 THEN i ELSE 0 END", 0, 1000),
        ("CASE WHEN i > 3 OR i > 5 THEN i END", -100, 1000), ("CASE WHEN i > j THEN i END", -100, 1000),
        ("CASE WHEN f > 3 THEN f END", 3, 1000),
    ]:  # fmt: skip
        assert bounds(text) == pytest.approx((low, high))


def test_a_remainder_is_smaller_than_both() -> None:
    for text, low, high in [
        ("i % 7", -6, 6), ("mod(i, 7.5)", -7.5, 7.5), ("mod(n, 5000)", -100, 1000), ("i % 500", -100, 499),
    ]:  # fmt: skip
        assert bounds(text) == (low, high)
        assert bounds(text, HostileNames(10.0, 100.0)) == (0, min(high, 100))
    for text, most in (("i % 7", 6), ("mod(i, 7.5)", 7.5), ("n % 5000", 5000), ("abs(i % 4)", 3)):
        least = 0 if text.startswith("abs") else -most
        assert bounds(text, _Unranged()) == (least, most), "of any number"


def test_a_choice_of_days_is_within_the_ranges_of_all() -> None:
    for text, low, high in [
        ("extract(year FROM coalesce(d, DATE '2001-05-01'))", 1992, 2001),
        ("extract(year FROM least(d, s))", 1992, 1998),
        ("extract(year FROM age(CASE WHEN i > 0 THEN d ELSE DATE '1990-01-01' END, d))", -8, 6),
    ]:  # fmt: skip
        assert bounds(text) == (low, high)
    assert bounds("extract(year FROM coalesce(d, DATE '2001-05-01'))", HostileNames())[1] == 9999


def test_what_copies_a_text_sees_its_first_characters() -> None:
    """More than 134,217,727 of them are more memory than PostgreSQL gives a trim."""
    for text in ("trim(t)", "lower(left(t, 999999999))", "t ILIKE '%a'", "left(t, 9999999) || 'a'"):
        assert "1048576)" in bind_scalar(parsed(text), NAMES).sql.sql("postgres")
        assert "1048576)" not in bind_scalar(parsed("trim(v)"), NAMES).sql.sql("postgres")


def test_a_double_is_rounded_as_its_sql_rounds_it() -> None:
    for text, lo in (("trunc(f, 11)", 0), ("trunc(f, 10)", 0), ("round(f, 12)", 9.99e-12)):
        assert bounds(text, HostileNames(1e-11, 1.0))[0] == pytest.approx(lo, rel=0.11)


def test_conditions_of_the_statement_narrow_the_sum() -> None:
    assert bounds("n * i", POSITIVE, "n BETWEEN 0.05 AND 0.07", "24 > i") == pytest.approx((0, 0.07 * 23))


def test_a_divisor_that_may_be_zero_is_null_there_and_a_literal_zero_is_refused() -> None:
    for over, safe in (("n / i", "n / NULLIF(i, 0)"), ("f / (i - 1)", "f / NULLIF(i - 1, 0)")):
        assert bind_measure(parsed(over), NAMES)[0] == bind_measure(parsed(safe), NAMES)[0]
    assert "NULLIF" in bind_measure(parsed("greatest(least(n / f, 100), -100)"), NAMES)[0].sql("postgres")
    assert "NULLIF" not in bind_measure(parsed("n / (i + 1)"), POSITIVE)[0].sql("postgres")


def test_what_could_fail_is_refused() -> None:
    for text, error, word in [
        ("n / 0", UnsupportedSQL, "zero"), ("n / f", SensitivityUnbounded, "so small"),
        ("n / NULLIF(f, 0)", SensitivityUnbounded, "so small"),
        ("least(n / f, 100)", SensitivityUnbounded, "so small"), ("sqrt(f)", SensitivityUnbounded, "negative"),
        ("ln(f)", SensitivityUnbounded, "0 or negative"),
        ("exp(f)", SensitivityUnbounded, "too large"), ("power(f, 17)", UnsupportedSQL, "whole number"),
        ("power(f, i)", UnsupportedSQL, "whole number"), ("f % 3", UnsupportedSQL, "remainder"),
        ("i % 0", UnsupportedSQL, "remainder"), ("t::int", UnsupportedSQL, "cast from text"),
        ("f::numeric(9, 2)", UnsupportedSQL, "rounds"), ("t::timestamp", UnsupportedSQL, "cast from text"),
        ("n::numeric(3, 2)", UnsupportedSQL, "overflow"), ("f::text", UnsupportedSQL, "cast from float"),
        ("t::varchar(99999999)", UnsupportedSQL, "length"), ("to_char(d, 'YYYY-J')", UnsupportedSQL, "'J'"),
        ("to_char(s, 'SSSS')", UnsupportedSQL, "'SSSS'"), ("to_char(d, 'IDDD')", UnsupportedSQL, "'IDDD'"),
        ("to_char(d, 'DDth')", UnsupportedSQL, "'DDth'"), ("to_char(d, 'am')", UnsupportedSQL, "'am'"),
        ("to_char(d, t)", UnsupportedSQL, "literal"), ("to_char(i, '999')", UnsupportedSQL, "number"),
        ("age(d, d)", UnsupportedSQL, "within extract()"),
        ("extract(week FROM age(d, d))", UnsupportedSQL, "'week' of age()"),
        ("extract(month FROM s - s)", UnsupportedSQL, "'month' of a difference"),
        ("d + n * INTERVAL '1 day'", UnsupportedSQL, "whole number"),
        ("to_timestamp(n)", UnsupportedSQL, "whole number"),
        ("date_bin('1 month', s, TIMESTAMP '2024-01-01')", UnsupportedSQL, "constant step"),
        ("date_bin('15 min', s, TIMESTAMP '2024-01-01 00:01')", UnsupportedSQL, "origin"),
        ("to_date(t, 'Mon DD')", UnsupportedSQL, "Mon DD"),
        ("make_date(i, 2.5, 1)", UnsupportedSQL, "whole numbers"),
        ("extract(epoch FROM d - d)", UnsupportedSQL, "number of days"),
        ("width_bucket(n, 1, 1, 5)", UnsupportedSQL, "width"),
        ("width_bucket(n, 0, i, 5)", UnsupportedSQL, "literals"),
        ("width_bucket(n, 0, 1, i)", UnsupportedSQL, "whole number"), ("concat(f, 'a')", UnsupportedSQL, "float"),
        ("replace(t, 'a', v)", UnsupportedSQL, "literal"),
        ("replace(t, 'a', '" + "x" * 17 + "')", UnsupportedSQL, "too long"),
        ("split_part(t, 'a')", UnsupportedSQL, "three arguments"), ("date()", UnsupportedSQL, "an argument"),
        ("split_part(t, '', 1)", UnsupportedSQL, "empty"), ("split_part(t, '-', 0)", UnsupportedSQL, "whole number"),
        ("lpad(t, 3, '')", UnsupportedSQL, "empty"), ("make_date(2024, 13, 1)", UnsupportedSQL, "no date"),
        ("i::time", UnsupportedSQL, "time"),
        ("t + 1", UnsupportedSQL, "number"), ("lower(i)", UnsupportedSQL, "text"),
        ("left(t, -1)", UnsupportedSQL, "whole number"), ("left(t, i)", UnsupportedSQL, "whole number"),
        ("substring(t FROM 0)", UnsupportedSQL, "whole number"),
        ("substring(t FROM 'a.*')", UnsupportedSQL, "regular expression"),
        ("position(v IN t)", UnsupportedSQL, "literal"), ("t LIKE v", UnsupportedSQL, "literal"),
        (f"t LIKE '{'%a' * 17}'", UnsupportedSQL, "%"), ("t LIKE 'a!' ESCAPE '!'", PlannerError, "escape"),
        ("extract(milliseconds FROM s)", UnsupportedSQL, "milliseconds"),
        ("extract(hour FROM d)", UnsupportedSQL, "HOUR"), ("date_trunc('decade', d)", UnsupportedSQL, "decade"),
        ("d + INTERVAL '4000' YEAR", UnsupportedSQL, "interval"), ("d + n", UnsupportedSQL, "whole number"),
        ("s - (s - s)", UnsupportedSQL, "times"), ("f * (s - s)", UnsupportedSQL, "not interval"),
        ("coalesce(s - s, INTERVAL '1 year')", UnsupportedSQL, "in comparisons"),
        ("(i, j) = (1, 2, 3)", UnsupportedSQL, "TUPLE"),
        ("i = t", UnsupportedSQL, "integer and text"),
        ("coalesce(i, t)", UnsupportedSQL, "integer and text"),
        ("i AND b", UnsupportedSQL, "condition"),
    ]:  # fmt: skip
        assert_refused(lambda one: bind_scalar(parsed(one), NAMES).sql, text, error, word)


def test_missing_ranges_are_all_named() -> None:
    class Unranged(HostileNames):
        def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
            return super().declared(column)[0], ColumnPolicy()

    with pytest.raises(SensitivityUnbounded, match=r"h\.f, h\.i, h\.n"):
        bind_measure(parsed("CASE WHEN j > 1 THEN i * n ELSE f END"), Unranged())
    assert bind_scalar(parsed("i * n > 3"), Unranged()).sql


def test_nesting_cannot_double_for_ever() -> None:
    text = "f"
    for _ in range(20):
        text = f"round({text})"
    with pytest.raises(PlannerError, match="too large"):
        bind_scalar(parsed(text), NAMES)


def test_a_nest_of_extremes_is_bound_in_time_that_is_linear_in_it() -> None:
    class Counting(HostileNames):
        asked = 0

        def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
            self.asked += 1
            return super().declared(column)[0], ColumnPolicy()

    text, names = "f", Counting()
    for place in range(16):
        text = f"{('greatest', 'least')[place % 2]}({text}, f)"
    with pytest.raises(SensitivityUnbounded):
        bind_measure(parsed(text), names)
    assert 17 <= names.asked <= 4 * 17


def test_refused_functions_have_a_reason() -> None:
    for name in [
        "random", "NEXTVAL", "pg_read_file", "dblink_exec", "lo_import", "xpath", "age", "generate_series",
        "regexp_replace", "current_user", "query_to_xml",
    ]:  # fmt: skip
        assert why_refused(name)[0]
