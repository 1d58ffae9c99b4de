"""Clips of what a database has added up keep their claims; too many shares, and less noise, do not."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.unit_vectors import RoundedNoise
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import SHARE_BITS, ContributionHistogram, NormHistogram, VectorsOfSum
from privacy.units import ONE
from tests.audit.auditing import loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.audit.clipped import BIG, RUNS, Vector
from tests.support.lengths import columns, length_of
from tests.support.simulated_entropy import SimulatedEntropy

L1, L2 = (Clip(budget, Thresholds(0, 0)) for budget in (PureBudget(1.0), ConcentratedBudget(0.5, 0.01)))
"""One threshold, so that the release is what is audited."""

BOTH = pytest.mark.parametrize("clip", [L1, L2], ids=["l1", "l2"])
NOBODY = (0.0, 0.0, 0.0, 0.0)
UNITS: list[Vector] = [(1, 0, 0, 0), (BIG, BIG, 0, 0), (BIG, BIG, BIG, BIG), (BIG, 1, 0, 0)]


def side_by_side(vector: Vector, runs: int, clip: Clip, shares_of: float = 1.0) -> NormHistogram:
    """So many units with the same vector, each in groups of its own: every unit is one independent run."""
    contributions = [round(part * ONE) for part in vector]
    length = length_of(contributions, clip.euclidean) if sum(contributions) else 0
    taus = clip.thresholds.units
    place = int(np.searchsorted(taus, length))
    which, alone, at, many, together = columns([[0, 0, place, runs, length]] if length else [])
    group = np.arange(runs * len(vector))
    totals = np.tile(np.array(contributions, np.int64), runs)
    here = totals > 0
    shares = np.floor(totals[here] / max(length, 1) * 2.0**SHARE_BITS * shares_of).astype(np.int64)
    zeros = np.zeros(int(here.sum()), np.int64)
    lengths = ContributionHistogram(which, alone, at, many, together, 1, 1, taus)
    return NormHistogram(lengths, zeros, group[here], zeros + place, totals[here], shares, len(group))


def audit(clip: Clip, unit: Vector, shares_of: float = 1.0) -> float:
    """A lower bound on epsilon, from the component of the released vectors in which the unit moves them."""
    source, towards = SimulatedEntropy(seed=20261129), np.array(unit) / np.linalg.norm(unit)

    def run(vector: Vector, size: int) -> Outputs:
        vectors = VectorsOfSum(side_by_side(vector, size, clip, shares_of), 0)
        return plain(clip.release_vectors(vectors, source).values.reshape(size, -1) @ towards)

    return loss_bound(run, (unit, NOBODY), RUNS, clip.delta)


@BOTH
@pytest.mark.parametrize("unit", [UNITS[2], *(slow(unit) for unit in (UNITS[1], UNITS[3]))])
def test_a_unit_comes(clip: Clip, unit: Vector) -> None:
    assert audit(clip, unit) <= clip.epsilon


@BOTH
def test_the_release_spends_what_it_may(clip: Clip) -> None:
    assert 0.65 * clip.epsilon < audit(clip, UNITS[0]) <= clip.epsilon


@BOTH
def test_catches_shares_of_more_than_a_length(clip: Clip) -> None:
    """As if lengths were taken for half of what they are."""
    assert audit(clip, UNITS[2], shares_of=2.0) > clip.epsilon


@BOTH
def test_catches_noise_for_half_of_tau(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RoundedNoise.sensitivity.func  # type: ignore[attr-defined]
    monkeypatch.setattr(RoundedNoise, "sensitivity", property(lambda noise: whole(noise) // 2))
    assert audit(clip, UNITS[0]) > clip.epsilon
