"""The mechanisms that are compared: how each prepares tuples, and releases them again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples, JoinTuples
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.shared_threshold import LaplaceOrGaussian, SharedThreshold
from privacy.mechanisms.sums import GroupsOfKinds, Sum
from privacy.papers.pmsja import Pmsja
from privacy.papers.s4s_vector import S4SVector
from privacy.papers.vector_release import vector_instance
from privacy.registry import AllGroups, group_measurements
from privacy.truncation.encode import encode
from privacy.truncation.programs_by_threshold import ALIKE, Capacities
from privacy.truncation.truncate import truncate
from tests.support.papers.vectors_as_published import PmsjaAsPublished, S4SVectorAsPublished
from tests.support.vector_study.case import VectorCase

Values = NDArray[np.float64]
Releases = Callable[[Entropy], Values]
"""Each call is an independent release of the same tuples: (d,) values of the sample."""


@dataclass(frozen=True)
class Contender:
    """One mechanism.

    Attributes:
      name: as an analyst says it, and with which constants.
      prepare: from a case and coded tuples to releases; what one release solves is known to the next.
      applies: may it answer the case?
    """

    name: str
    prepare: Callable[[VectorCase, CodedJoinTuples], Releases]
    applies: Callable[[VectorCase], bool] = lambda case: True


def contenders(epsilon: float, delta: float) -> tuple[Contender, ...]:
    """All of them, the default of several owners first: `group_lp` as their plan has it."""

    def default(case: VectorCase, tuples: CodedJoinTuples) -> Releases:
        return by_default(epsilon, delta, case, tuples, case.kinds)

    def own(case: VectorCase, tuples: CodedJoinTuples) -> Releases:
        pure = Gem(PureBudget(epsilon), case.groups_per_unit, case.gap, case.thresholds)
        budget = ConcentratedBudget.of(epsilon, delta)
        concentrated = Gem(budget, case.groups_per_unit, case.gap, case.thresholds, c=1.0, monotone=True)
        noise = [one.expected_noise(case.n_groups)[-1][1] for one in (pure, concentrated)]
        return _each_group(pure if noise[0] <= noise[1] else concentrated, case, tuples)

    def clipped(case: VectorCase, tuples: CodedJoinTuples) -> Releases:
        built = group_measurements(
            "l2_clip", AllGroups([Sum(epsilon, case.gap, case.thresholds)], delta, case.groups_per_unit)
        )[0]
        return lambda entropy: built.release(tuples, 0, entropy).values

    def together(made: Callable[[VectorCase], Together]) -> Callable[[VectorCase, CodedJoinTuples], Releases]:
        return lambda case, tuples: _together(made(case), tuples)

    return (
        Contender("default", default),
        Contender("group_lp, own thresholds", own),
        Contender("l2_clip", clipped, lambda case: case.clips),
        Contender("pmsja", together(lambda c: Pmsja(epsilon, delta, c.n_groups, c.thresholds))),
        Contender("s4s_vector", together(lambda c: S4SVector(epsilon, delta, c.n_groups, c.thresholds))),
        Contender(
            "pmsja as published",
            together(lambda c: PmsjaAsPublished(epsilon, delta, c.n_groups, c.published_thresholds)),
        ),
        Contender(
            "s4s_vector as published",
            together(lambda c: S4SVectorAsPublished(epsilon, delta, c.n_groups, c.published_thresholds)),
        ),
    )


def by_default(
    epsilon: float, delta: float, case: VectorCase, tuples: CodedJoinTuples, kinds: GroupsOfKinds
) -> Releases:
    """`group_lp`, told how many groups the units of each relation reach, or with one capacity for all of them."""
    built = group_measurements(
        "group_lp", AllGroups([Sum(epsilon, case.gap, case.thresholds)], delta, case.groups_per_unit)
    )[0]
    assert isinstance(built, GroupLp)
    built = built.of_kinds(kinds) if kinds else built
    return _each_group(built.scalar, case, tuples, built.capacities(case.n_groups))


Scalar = Gem | SharedThreshold | LaplaceOrGaussian
Together = Pmsja | PmsjaAsPublished | S4SVector | S4SVectorAsPublished


def seconds(contender: Contender, case: VectorCase, tuples: JoinTuples, entropy: Entropy, times: int) -> float:
    """The least time from tuples, as a database returns them, to one noisy answer."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        contender.prepare(case, encode(tuples))(entropy)
        taken.append(time.perf_counter() - started)
    return min(taken)


def _each_group(
    scalar: Scalar, case: VectorCase, tuples: CodedJoinTuples, capacities: Capacities = ALIKE
) -> Releases:
    answer = truncate(tuples, 0, case.thresholds, case.gap, capacities=capacities)
    return lambda entropy: scalar.release(answer, entropy).values


def _together(mechanism: Together, tuples: CodedJoinTuples) -> Releases:
    instance = vector_instance(tuples, 0)
    return lambda entropy: mechanism.released(instance, entropy).values
