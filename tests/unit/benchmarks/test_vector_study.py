"""The study's bookkeeping on tuples small enough to know the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.units import ONE
from tests.benchmarks.vector import _bars
from tests.support.vector_study.case import VectorCase, names
from tests.support.vector_study.contenders import contenders
from tests.support.vector_study.smooth_noise import smooth_noise
from tests.support.vector_study.study import Effort, Studied, study


def case(people: int = 3000, groups: int = 2, groups_per_unit: int | None = 1) -> VectorCase:
    """Everybody has one tuple in one of some groups."""
    person = np.arange(people)
    owners = (OwnerColumn("p", person, np.zeros(people, bool)),)
    tuples = JoinTuples(owners, person % groups, groups, np.full((1, people), ONE, np.int64))
    return VectorCase("few groups", tuples, groups_per_unit, True)


def test_every_mechanism_is_studied_at_every_rate() -> None:
    found = list(study(case(), Effort(runs=8, samples=2, timings=1, rates=(1.0, 0.25))))
    assert [one.rate for one in found] == [1.0, 0.25]
    for one in found:
        assert {*one.errors, "l2_clip"} == {contender.name for contender in contenders(4.0, 1e-7)}
        assert set(one.errors) == set(one.seconds)
        assert all(error <= one.p95[name] for name, error in one.errors.items())


def test_errors_are_those_of_the_whole() -> None:
    """A count of 1500 in each group: noise of one person or so whole, the sampling error of 375 out of 1500 else."""
    whole, quarter = study(case(), Effort(runs=20, samples=10, timings=1, rates=(1.0, 0.25)))
    assert whole.errors["default"] < 0.005
    assert 0.01 < quarter.errors["default"] < 0.1
    assert whole.errors["default"] < whole.errors["s4s_vector"] < whole.errors["s4s_vector as published"]


def test_clipping_is_studied_where_one_owner_reaches_several_groups() -> None:
    """Nobody has promised that people are in one of the 40 groups only; the noise of clipping follows from it."""
    (found,) = study(case(groups=40, groups_per_unit=None), Effort(runs=20, samples=1, timings=1, rates=(1.0,)))
    assert 3 * found.errors["l2_clip"] < found.errors["default"]
    owner = OwnerColumn("q", np.arange(3000), np.zeros(3000, bool))
    alone = case()
    both = replace(alone.tuples, owners=(*alone.tuples.owners, owner))
    assert not replace(alone, tuples=both, groups_per_unit=None).clips
    assert not alone.clips


def studied(default: float) -> Studied:
    errors = {"default": default, "pmsja": 0.5, "pmsja as published": 0.4, "s4s_vector as published": 1.0}
    return Studied(1.0, errors, errors, errors)


@pytest.mark.parametrize(
    ("name", "error", "missed"),
    [
        ("TPC-H Q5", 0.009, 0),
        ("TPC-H Q5", 0.02, 1),
        ("TPC-H Q5", 0.2, 2),
        ("TPC-H Q7a", 0.24, 0),
        ("TPC-H Q7a", 0.26, 1),
        ("TPC-H Q7c", 0.34, 1),
        ("MathOverflow c2a, 2-paths", 0.07, 0),
        ("MathOverflow c2a, 2-paths", 0.09, 1),
    ],
)
def test_a_study_of_too_large_errors_misses_its_bars(
    monkeypatch: pytest.MonkeyPatch, name: str, error: float, missed: int
) -> None:
    monkeypatch.delenv("QUICK", raising=False)
    assert name in names()
    assert sum(row.held is False for row in _bars(name, name, studied(error))) == missed


def test_one_public_pair_meets_its_bars(tmp_path: Path) -> None:
    rows = smooth_noise(tmp_path, (1, 8))
    assert [row.held for row in rows if row.held is not None] == [True, True]
    at_ten = {row.metric: row.value for row in rows if row.case == "smooth sensitivity, d 10, eps 3.2, B 1"}
    assert at_ten["ramp"] < at_ten["corrected"] < 32 < at_ten["as published"]
