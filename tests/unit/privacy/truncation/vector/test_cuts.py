"""Cuts that are summed up in passes and cuts that are summed up row by row are the same."""

import numpy as np
import pytest

from privacy.truncation.vector import cuts
from privacy.truncation.vector.certificate.shares import on_grid
from privacy.truncation.vector.core import build_core, loads_at
from privacy.truncation.vector.cuts import cuts_at
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance
from privacy.truncation.vector.norms import squared_norms
from privacy.units import ONE
from tests.unit.privacy.truncation.vector.vectors import Grouped, compacted


def crowd(seed: int, people: int = 30, rows: int = 300) -> list[Grouped]:
    rng = np.random.default_rng(seed)
    return [
        (frozenset(rng.integers(people, size=3).tolist()), int(rng.integers(ONE)), int(rng.integers(3)))
        for _ in range(rows)
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("block", [1, 100])
def test_rows_are_the_same_however_they_are_summed(seed: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tuples = compacted(crowd(seed))
    over = squared_norms(tuples, 0).exceed(2 * ONE)
    core = build_core(tuples, 0, over, np.arange(tuples.n_units), np.zeros(tuples.n_units), 2 * ONE)
    point = on_grid(np.random.default_rng(seed).random(tuples.n_units) / 2)
    loads = loads_at(core, point)
    broken = np.flatnonzero(core.lengths_of(loads) > 1.0)
    assert len(broken) > 3
    whole = cuts_at(core, point, loads, broken)
    monkeypatch.setattr(cuts, "_BLOCK", block)
    monkeypatch.setattr(cuts, "_PASSES", 1000 if block > 1 else 0)
    other = cuts_at(core, point, loads, broken)
    for name in ("indptr", "columns", "values", "bound", "direction"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(other, name))


def test_a_hundred_thousand_who_share_nothing_are_done_in_seconds() -> None:
    n = 100_000
    removal = VectorInstance(compacted([(frozenset({u}), 3 * ONE, 0) for u in range(n)])).removal(ONE)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
