"""What no database adds up is refused, and nothing of it is shown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.sums import Sum
from privacy.mechanisms.unit_vectors import RoundedNoise
from privacy.registry import AllGroups, group_measurements, release_norms
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import VectorsOfSum
from privacy.units import ONE
from tests.support.lengths import lengths_of
from tests.support.replay_entropy import ConstantEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls

FOUND = lengths_of([[(3 * ONE, ONE), (0, ONE)]], 2, Thresholds(0, 3).units.tolist(), euclidean=False)
"""One with four in two groups, and one with one."""


def test_groups_outside_of_the_domain_do_not_count() -> None:
    kept = VectorsOfSum(replace(FOUND, group=np.where(FOUND.group == 0, -1, FOUND.group)), 0)
    assert kept.sums(2 * ONE, ONE).tolist() == [0, (3 * ONE // 2) * 2**20 // ONE]
    assert VectorsOfSum(FOUND, 0).sums(4 * ONE, ONE).tolist() == [3 * 2**20, 2 * 2**20]


def test_noise_grows_by_less_than_a_thousandth_for_as_many_groups_as_an_answer_may_have() -> None:
    for tau in Thresholds(parts=4).units.tolist():
        noise = RoundedNoise(tau, 0.0, PureBudget(1.0).releasing(0.0), groups=100_000)
        assert 1.0 < noise.noise_scale / noise.tau < 1.001


def test_what_no_database_adds_up_is_refused() -> None:
    assert repr(FOUND) == "NormHistogram(<private>)"
    assert repr(VectorsOfSum(FOUND, 0)) == "VectorsOfSum(<private>)"
    wrong = {"sums": 1, "group": 2, "interval": 5, "totals": -1, "shares": -1}
    refuses(partial(replace, FOUND), {}, **{name: [np.full(3, value)] for name, value in wrong.items()})
    refuses(partial(replace, FOUND), {}, norms=[replace(FOUND.norms, n_groups=2)])
    refuses_calls(VectorsOfSum, (FOUND, 1))
    with pytest.raises(InvalidParameter, match="own thresholds"):  # a unit between it and the next would be whole
        VectorsOfSum(FOUND, 0).sums(3 * ONE, ONE)
    refuses(RoundedNoise, {"tau_units": ONE, "gap": 0.0, "epsilon": PureBudget(1.0).releasing(0.0)}, groups=[0])
    with pytest.raises(InvalidParameter, match="one sign"):
        Clip(PureBudget(1.0), Thresholds(0, 3), less=1).release_vectors(VectorsOfSum(FOUND, 0), ConstantEntropy())
    joint = group_measurements("joint_scale", AllGroups([Sum(1.0, 0.0, Thresholds(0, 3))], 0.0, 1))
    with pytest.raises(InvalidParameter, match="needs the join tuples"):
        release_norms(joint, FOUND, ConstantEntropy())
