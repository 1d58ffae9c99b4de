"""What mechanisms look like once their parameters are fixed, and what follows from their budgets alone.

Protocols: of truncated answers (`Measurement`), of the tuples of all groups together (`GroupMeasurement`), and of
what a server can ask of some of them beside. Bases: of pure privacy (`Pure`), and of either budget (`OfBudget`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import Budget, PureBudget
from privacy.mechanisms.scores import ExceedanceScores, Scores
from privacy.mechanisms.selection import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer


class OfBudget:
    """A mechanism with a `budget` for all groups together, which relies on no public bound on a unit's tuples."""

    budget: Budget

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together; of rho, at `delta`."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """0 under pure privacy; else the delta at which rho is stated."""
        return self.budget.delta

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP or rho-zCDP, over all groups."""
        return self.budget.event

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon


class OneChoice(OfBudget):
    """One that chooses one threshold for all groups, once. Of a ladder of one it chooses nothing, which is free."""

    thresholds: Thresholds
    selection: SelectionSettings

    @property
    def _split(self) -> float:
        """The share of the budget that the choice gets."""
        return 0.0 if len(self.thresholds) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one selection."""
        return self.budget.selecting(self._split)

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        """Of the thresholds. Raises: InvalidParameter where they are out of range."""
        raise NotImplementedError

    def _chosen(self, answer: TruncatedAnswer, n_groups: int, entropy: Entropy) -> int:
        """The index of the threshold, by the answer of all groups together. Raises: EntropyFailed; SolverFailed."""
        return int(self.budget.choose(answer, self._scores(n_groups), self._selecting, entropy).index[0])

    def _check_choice(self, n_groups: int) -> None:
        """Refuse noise or scores of the choice out of range. Raises: InvalidParameter."""
        if len(self.thresholds) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.thresholds)))


class Pure:
    """The same of a mechanism whose budget is an `epsilon`, pure, for all groups together."""

    epsilon: float
    delta = 0.0

    @property
    def budget(self) -> PureBudget:
        """epsilon, over all groups."""
        return PureBudget(self.epsilon)

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP, over all groups."""
        return self.budget.event

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon


class Released(Protocol):
    """The public facts about a mechanism, which its answers repeat."""

    @property
    def name(self) -> str:
        """As `NoisyAnswer.mechanism` carries it."""

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""

    @property
    def event(self) -> PrivacyEvent:
        """What one release does to privacy, for the accountant."""


class Measurement(Released, Protocol):
    """A mechanism with its budget: truncated answer in, noisy answer out. Everything but `release` is public."""

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that the truncated answer must be able to answer."""

    @property
    def gap(self) -> float:
        """The solver gap that the noise is scaled for; the truncated answer's may not be larger."""

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          answer: values of G groups on `thresholds`, with a gap of at most `gap`.
          entropy: where the noise comes from.
        Raises: InvalidParameter for an answer on another ladder or with a larger gap, before noise is drawn;
          EntropyFailed; SolverFailed from the answer.
        """

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """What one release tells about a unit with more join tuples than the public bound, for all groups. Public.

        `epsilon`, unless amplification by sampling was claimed, which rests on that bound.
        """

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what the interval would be there. Public."""


class ServedMeasurement(Measurement, Protocol):
    """One that a server runs: it can say beforehand whether its noise can be drawn."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """


class GroupMeasurement(Released, Protocol):
    """A mechanism with its budget: coded join tuples in, one noisy value per group out. All but `release` is public.

    One unit may be in several groups, so these mechanisms see the tuples, not each group's truncated answer. Sampling
    has happened before; where it is counted on, the mechanism was told how (a SampleDesign).
    """

    @property
    def delta(self) -> float:
        """The delta of one release; 0 for pure differential privacy."""

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          tuples: m join tuples in G groups, as `encode` returns them.
          row: which row of tuples.weights.
          entropy: where the noise comes from.
        Raises: InvalidParameter for a row, or owners per tuple, that the mechanism was not made for, before noise is
          drawn; EntropyFailed; SolverFailed.
        """

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what a group's interval would be there. Public."""

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """As `Measurement`'s, at the same delta."""


class ServedGroupMeasurement(GroupMeasurement, Protocol):
    """One that a server runs."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise out of range for up to so many groups. Public. Raises: InvalidParameter."""
