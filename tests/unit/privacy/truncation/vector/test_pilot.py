"""Starting from a sample changes the path, never what is proved."""

from functools import cache

import numpy as np
import pytest

from privacy.ladder import Ladder
from privacy.truncation.vector import pilot
from privacy.truncation.vector.certificate.shares import WHOLE
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance
from privacy.truncation.vector.removal import Removal
from privacy.units import ONE
from tests.unit.privacy.truncation.vector.vectors import Grouped, compacted, feasible


def crowd(seed: int) -> list[Grouped]:
    """Some hubs among many."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, 61)
    chances /= chances.sum()
    return [
        (frozenset(rng.choice(60, 4, p=chances).tolist()), int(rng.integers(1, ONE)), int(rng.integers(3)))
        for _ in range(1500)
    ]


@cache
def without_a_pilot(seed: int, taus: tuple[int, ...]) -> list[Removal]:
    """What is removed at each threshold where no pilot pays: the same for every sample that is compared with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pilot, "_WORTHWHILE", 1 << 62)
        plain = VectorInstance(compacted(crowd(seed)))
        return [plain.removal(tau) for tau in taus]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sample", [10, 60, 300])
def test_a_bad_sample_costs_rounds_and_no_certificate(
    seed: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples = compacted(crowd(seed))
    taus = (2 * ONE, 10 * ONE, 50 * ONE)
    for tau, whole in zip(taus, without_a_pilot(seed, taus), strict=True):
        with monkeypatch.context() as patch:
            patch.setattr(pilot, "_SAMPLE", sample)
            patch.setattr(pilot, "_WORTHWHILE", 4)
            removal = VectorInstance(tuples).removal(tau)
        assert feasible(tuples, removal, tau)
        assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
        assert removal.lower <= whole.removed
        assert whole.lower <= removal.removed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sample", [10, 60, 300])
def test_selection_that_starts_from_samples_equals_a_scan(
    seed: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples, ladder = compacted(crowd(seed)), Ladder(0, 10)
    values = [removal.removed for removal in without_a_pilot(seed, tuple(ladder.units.tolist()))]
    monkeypatch.setattr(pilot, "_SAMPLE", sample)
    monkeypatch.setattr(pilot, "_WORTHWHILE", 4)
    sampled = VectorInstance(tuples)
    scanned = [sampled.removal(tau).removed for tau in ladder.units.tolist()]
    assert all(abs(a - b) <= DEFAULT_GAP for a, b in zip(values, scanned, strict=True))
    rng = np.random.default_rng(seed)
    for limit in (1, 3, 8, 20):
        stop = np.floor((limit + rng.laplace(0, 2, len(ladder))) * WHOLE).astype(np.int64)
        passing = (np.array(scanned) <= stop).tolist()
        expected = passing.index(True) if any(passing) else None
        assert VectorInstance(tuples).select(ladder, stop) == expected
