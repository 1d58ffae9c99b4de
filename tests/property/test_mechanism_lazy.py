"""Lazy evaluation changes nothing: same draws, same output as with the whole ladder solved, whatever the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.dp_s4s import S4S
from privacy.papers.r2t import R2T
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import MAX_UNITS, ONE
from tests.support.papers.s4s_variants import S4SRenyi
from tests.support.replay_entropy import RecordedEntropy, ReplayEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

MEASUREMENTS: dict[str, Measurement] = {
    "gem": Gem(PureBudget(1.0), groups_per_unit=1, thresholds=Thresholds(-1, 6)),
    "gem-long": Gem(PureBudget(20.0), thresholds=Thresholds(-20, 32), gap=0.01),
    "r2t": R2T(1.0, 256.0, groups_per_unit=1),
    "r2t-long": R2T(30.0, 2.0**32, gap=0.01),
    "s4s": S4S(1.0, 256, sample=SampleDesign(0.1, 256, 1.0)),
    "s4s-rdp": S4SRenyi(1.0, 256, gap=0.01, delta=1e-6, rate=0.1),
    "zcdp": Gem(ConcentratedBudget(0.5, 1e-6), thresholds=Thresholds(-1, 6), c=1.0, monotone=True),
    "shared": SharedThreshold(PureBudget(3.0), 2, thresholds=Thresholds(-1, 6)),
    "shared-long": SharedThreshold(ConcentratedBudget(2.0, 1e-6), gap=0.01, thresholds=Thresholds(-20, 32)),
}


@st.composite
def hidden(draw: st.DrawFn, thresholds: Thresholds) -> RevealingAnswer:
    """Non-decreasing values, and bounds around them that range from tight to worthless, cell by cell."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(1, 4)), len(thresholds))
    people = np.exp2(generator.uniform(0, draw(st.integers(1, 40)), shape))
    values = np.maximum.accumulate(np.minimum(people * thresholds.units, MAX_UNITS / 2).astype(np.int64), axis=1)
    if draw(st.booleans()):
        values = np.minimum(values, values[:, -1:] // (1 + 3 * ONE))  # saturated early, with many ties
    widest = draw(st.integers(0, 61)), draw(st.integers(0, 61))
    slack = np.exp2([generator.uniform(-3, bits, shape) for bits in widest]).astype(np.int64)
    known = generator.random((2, *shape)) < draw(st.sampled_from([0.0, 0.5, 0.9]))
    below, above = np.where(known, 0, slack)
    lower = np.maximum(0, values - below)
    upper = np.minimum(MAX_UNITS - values, above) + values
    return RevealingAnswer(values, thresholds, lower, upper)


def same(first: NoisyAnswer, second: NoisyAnswer) -> bool:
    fields = ("values", "tau", "noise_scale", "low", "high")
    return all(np.array_equal(getattr(first, field), getattr(second, field)) for field in fields)


@pytest.mark.parametrize("name", MEASUREMENTS)
@settings(max_examples=examples(12, 100))
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_lazy_is_the_same_as_full(name: str, data: st.DataObject, seed: int) -> None:
    measurement = MEASUREMENTS[name]
    lazy = data.draw(hidden(measurement.thresholds))
    full = TabulatedAnswer(lazy._values, measurement.thresholds)
    recorded = RecordedEntropy(SimulatedEntropy(seed))
    expected = measurement.release(full, recorded)
    assert same(measurement.release(lazy, ReplayEntropy(recorded.draws)), expected)
    assert len(set(lazy.solved)) == len(lazy.solved) <= lazy.n_groups * len(measurement.thresholds)
