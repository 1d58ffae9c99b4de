"""`group_lp`: every group is truncated by itself and released, at a threshold of its own or one for all groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import NESTED_SELECTION, Gem
from privacy.mechanisms.shared_threshold import SHARED_SELECTION, LaplaceOrGaussian, SharedThreshold
from privacy.mechanisms.sums import GroupsOfKinds, Sum, capacities_of, equal_shares
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds
from privacy.truncation.programs_by_threshold import ALIKE, Capacities
from privacy.truncation.solver_name import SolverName
from privacy.truncation.truncate import TruncatedSum, TuplesOfSum

_Scalar = TypeVar("_Scalar", bound=Gem | SharedThreshold)


@dataclass(frozen=True)
class GroupLp:
    """One scalar truncation per group, and one joint budget over the groups that a unit reaches.

    If a unit comes or goes, at most L0 truncated answers move, each by at most (1 + gap) tau. With a threshold per
    group (`Gem`), each group spends epsilon / L0 or rho / L0. With one threshold for all (`SharedThreshold`,
    `LaplaceOrGaussian`) the choice is made once. That has less error, unless the groups' people differ by orders of
    magnitude.

    Units of different relations may reach different numbers of groups. Those that reach fewer may contribute more to
    each at no price (`capacities_of`). tau is then the least capacity. After `keep_groups`, L0 is the number of kept
    groups.
    Source: docs/mathematics.md, section 5.1.

    Attributes:
      scalar: the mechanism of truncated answers, with the budget of all groups.
      solver: which truncates.
      kinds: how many groups the units of each relation reach; empty: all of them L0.
    """

    scalar: Gem | SharedThreshold | LaplaceOrGaussian
    solver: SolverName = "certified"
    kinds: GroupsOfKinds = ()
    name = "group_lp"

    def __post_init__(self) -> None:
        if self.kinds and (self._sampled or not self.thresholds.doubling):
            raise InvalidParameter(
                "different capacities per kind of unit need all tuples, and thresholds that double"
            )

    @property
    def epsilon(self) -> float:
        """The epsilon that one release spends, for all groups together."""
        return self.scalar.epsilon

    @property
    def delta(self) -> float:
        """0 under pure privacy; else the delta at which rho is stated."""
        return self.scalar.delta

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP or rho-zCDP, over all groups."""
        return self.scalar.event

    @property
    def thresholds(self) -> Thresholds:
        """The candidate thresholds of the scalar mechanism."""
        return self.scalar.thresholds

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Truncate every group and release it; each interval covers the truncated answer at its tau.

        Cost: linear in m and G L^2, and the programs of the thresholds that can still be chosen.
        """
        capacities = self.capacities(tuples.n_groups)
        return self.release_sum(TuplesOfSum(tuples, row, self.scalar.gap, self.solver, capacities), entropy)

    def release_sum(self, one: TruncatedSum, entropy: Entropy) -> NoisyAnswer:
        """`release` from a sum that truncates itself on request, with its own capacities. Raises: as `release`."""
        return replace(self.scalar.release(one.at(self.scalar.thresholds), entropy), mechanism=self.name)

    def of_kinds(self, kinds: GroupsOfKinds) -> GroupLp:
        """This mechanism with known numbers of groups for each relation: noise for the largest, capacities for each.

        L0 becomes the largest of them if that is less. A sampled mechanism stays as it is, since its losses are
        accounted for the L0 it was made with. At a named threshold all capacities are that threshold.

        Args:
          kinds: one entry for each relation that owns tuples.
        Raises: InvalidParameter for no entry, or fewer than one group.
        """
        if self._sampled:
            return self
        if not kinds:
            raise InvalidParameter("group_lp needs at least one relation of privacy units")
        most = max(reached for _, reached in kinds)
        scalar = self.scalar
        if isinstance(scalar, LaplaceOrGaussian):
            pure, concentrated = _for_groups(scalar.pure, most), _for_groups(scalar.concentrated, most)
            scalar = replace(scalar, pure=pure, concentrated=concentrated)
        else:
            scalar = _for_groups(scalar, most)
        return replace(self, scalar=scalar, kinds=kinds if self.thresholds.doubling else ())

    @property
    def _sampled(self) -> bool:
        return isinstance(self.scalar, Gem) and self.scalar.sample is not None

    def capacities(self, n_groups: int) -> Capacities:
        """The most that units of each relation may contribute to each of the groups. Public."""
        if not self.kinds:
            return ALIKE
        scalar = self.scalar.chosen(n_groups) if isinstance(self.scalar, LaplaceOrGaussian) else self.scalar
        gaussian = isinstance(scalar.budget, ConcentratedBudget)
        return capacities_of(self.kinds, scalar.groups_per_unit, n_groups, gaussian)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """As `expected_noise` of the scalar mechanism."""
        return self.scalar.expected_noise(n_groups)

    def check_noise(self, n_groups: int = 1) -> None:
        """As `check_noise` of the scalar mechanism. Raises: InvalidParameter."""
        self.scalar.check_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """As `epsilon_if_bound_fails` of the scalar mechanism, for all groups."""
        return self.scalar.epsilon_if_bound_fails(n_groups)


def _for_groups(scalar: _Scalar, most: int) -> _Scalar:
    """The mechanism with an L0 of at most so many groups."""
    known = scalar.groups_per_unit
    return replace(scalar, groups_per_unit=most if known is None else min(known, most))


def group_lps(
    sums: Sequence[Sum], delta: float, groups_per_unit: int | None, sample: SampleDesign | None
) -> tuple[GroupLp, ...]:
    """One measurement per sum: pure without a delta; with one, rho is shared and converted once, for all sums.

    Raises: InvalidParameter for parameters that are worth nothing.
    """
    if delta == 0:
        return tuple(_pure(one, groups_per_unit, sample) for one in sums)
    shares = equal_shares(sums, delta)
    typical = _typical(sums)
    return tuple(_either(one, share, groups_per_unit, typical) for one, share in zip(sums, shares, strict=True))


def _pure(one: Sum, groups_per_unit: int | None, sample: SampleDesign | None) -> GroupLp:
    """One threshold for all groups; one for each if a sample amplifies, as `Gem` can claim that."""
    if sample is not None:
        return GroupLp(Gem(PureBudget(one.epsilon), groups_per_unit, one.gap, one.thresholds, sample=sample))
    selection = NESTED_SELECTION if one.nested else SHARED_SELECTION
    known = PureBudget(one.epsilon), groups_per_unit, one.gap, one.thresholds, selection
    return GroupLp(SharedThreshold(*known, nested=one.nested))


def _typical(sums: Sequence[Sum]) -> PureBudget | None:
    """The sums' average epsilon; None if all have the same."""
    epsilons = [one.epsilon for one in sums]
    return None if min(epsilons) == max(epsilons) else PureBudget(math.fsum(epsilons) / len(epsilons))


def _either(one: Sum, share: ConcentratedBudget, groups_per_unit: int | None, typical: PureBudget | None) -> GroupLp:
    """Laplace or Gaussian noise: the same for all sums of a question, whatever their shares of epsilon."""
    selection = NESTED_SELECTION if one.nested else SHARED_SELECTION
    pure, concentrated = (
        SharedThreshold(budget, groups_per_unit, one.gap, one.thresholds, selection, nested=one.nested)
        for budget in (PureBudget(one.epsilon), share)
    )
    return GroupLp(LaplaceOrGaussian(pure, concentrated, typical))
