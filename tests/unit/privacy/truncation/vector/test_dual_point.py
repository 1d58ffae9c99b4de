"""The lower bound believes no solver: any multipliers prove something true."""

import numpy as np
import pytest

from privacy.truncation.vector.core import build_core
from privacy.truncation.vector.dual_point import dual_point
from privacy.truncation.vector.instance import VectorInstance
from privacy.truncation.vector.norms import squared_norms
from privacy.truncation.vector.survey import survey
from privacy.units import ONE
from tests.unit.privacy.truncation.vector.vectors import compacted


@pytest.mark.parametrize("seed", range(40))
def test_nonsense_never_proves_too_much_at_any_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tuples = compacted(
        [(frozenset(rng.choice(9, 3).tolist()), int(rng.integers(2 * ONE)), int(rng.integers(3))) for _ in range(40)]
    )
    over = squared_norms(tuples, 0).exceed(ONE)
    columns = np.flatnonzero(over | (rng.random(len(over)) < 0.5))
    core = build_core(tuples, 0, over, columns, np.zeros(len(over)), ONE)
    scale = 10.0 ** rng.uniform(-3, 0)
    by_run = scale * rng.normal(0.5, 1.0, len(core.run_column))
    by_pattern = 3 * scale * rng.normal(0.5, 1.0, len(core.weight))
    by_run[0], by_pattern[0] = np.nan, np.inf
    dual = dual_point(core, by_run, by_pattern)
    seen = survey(tuples, 0, over, np.zeros(len(over)), core.patterns, dual.by_pattern, ONE)
    line = dual.line(seen.prices)
    instance = VectorInstance(tuples)
    for ratio in (0.5, 1.0, 2.0):
        assert line.at(ratio) <= instance.removal(int(ratio * ONE)).removed


def test_what_no_constraint_allows_is_worth_nothing() -> None:
    """Small multipliers of z without multipliers of the loads would prove something for every threshold."""
    tuples = compacted([(frozenset({0, other}), ONE, 0) for other in range(1, 9)])
    over = squared_norms(tuples, 0).exceed(ONE)
    core = build_core(tuples, 0, over, np.flatnonzero(over), np.zeros(len(over)), ONE)
    dual = dual_point(core, np.zeros(len(core.run_column)), np.full(len(core.weight), 0.01))
    assert dual.line(np.zeros(len(over))).at(0.0) == 0
