"""Starting from a sample changes the path, never what is proved."""

import numpy as np
import pytest

from privacy.truncation.vector import pilot
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sample", [10, 60, 300])
def test_a_bad_sample_costs_rounds_and_no_certificate(
    seed: int, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples = compacted(crowd(seed))
    plain = VectorInstance(tuples)
    for tau in (2 * ONE, 10 * ONE, 50 * ONE):
        whole = plain.removal(tau)
        with monkeypatch.context() as patch:
            patch.setattr(pilot, "_SAMPLE", sample)
            removal = VectorInstance(tuples).removal(tau)
        assert feasible(tuples, removal, tau)
        assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
        assert removal.lower <= whole.removed
        assert whole.lower <= removal.removed
