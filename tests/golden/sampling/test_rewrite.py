"""Each sampled question's rewritten SQL, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.sampling.write_cases import CASES, after_file, after_text, before_files


@pytest.mark.parametrize("before", before_files(), ids=lambda path: path.name.split(".")[0])
def test_rewritten_sql_is_the_golden_one(before: Path) -> None:
    assert after_text(before) == after_file(before).read_text()


def test_no_golden_is_left_over() -> None:
    assert {after_file(path) for path in before_files()} == set(CASES.glob("*.after.sql"))
