"""Each sampled question's rewritten SQL, word for word."""

from __future__ import annotations

from tests.golden.sampling.write_cases import CASES, after_file, after_text, before_files


def test_rewritten_sql_is_the_golden_one() -> None:
    for before in before_files():
        assert after_text(before) == after_file(before).read_text()


def test_no_golden_is_left_over() -> None:
    assert {after_file(path) for path in before_files()} == set(CASES.glob("*.after.sql"))
