"""Mechanisms with fixed parameters: their Protocols, and what follows from their budgets alone.

`Measurement` takes truncated answers, `GroupMeasurement` the tuples of all groups. The bases are `Pure` for an
epsilon and `OfBudget` for either kind of budget.
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
    """A mechanism with a `budget` for all groups together, which uses no public bound on a unit's tuples."""

    budget: Budget

    @property
    def epsilon(self) -> float:
        """The epsilon that one release spends, for all groups together; a budget of rho states it at `delta`."""
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
        """`epsilon`, since no bound on a unit's tuples is used."""
        return self.epsilon


class OneChoice(OfBudget):
    """A mechanism that chooses one threshold for all groups; one candidate makes the choice free."""

    thresholds: Thresholds
    selection: SelectionSettings

    @property
    def _split(self) -> float:
        """The choice's share of the budget."""
        return 0.0 if len(self.thresholds) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one choice."""
        return self.budget.selecting(self._split)

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        """Scores of the candidate thresholds. Raises: InvalidParameter if they are out of range."""
        raise NotImplementedError

    def _chosen(self, answer: TruncatedAnswer, n_groups: int, entropy: Entropy) -> int:
        """The index of the threshold, chosen on all groups together. Raises: EntropyFailed; SolverFailed."""
        return int(self.budget.choose(answer, self._scores(n_groups), self._selecting, entropy).index[0])

    def _check_choice(self, n_groups: int) -> None:
        """Refuse noise or scores of the choice that are out of range. Raises: InvalidParameter."""
        if len(self.thresholds) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.thresholds)))


class Pure:
    """A mechanism with a pure `epsilon` for all groups together, which uses no public bound on a unit's tuples."""

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
        """`epsilon`, since no bound on a unit's tuples is used."""
        return self.epsilon


class Released(Protocol):
    """The public facts about a mechanism, which its answers repeat."""

    @property
    def name(self) -> str:
        """The value of `NoisyAnswer.mechanism`."""

    @property
    def epsilon(self) -> float:
        """The epsilon that one release spends, for all groups together."""

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event of one release, from which the accountant computes its cost."""


class Measurement(Released, Protocol):
    """A mechanism with its budget that releases truncated answers. All but `release` is public."""

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds at which the truncated answer must have values."""

    @property
    def gap(self) -> float:
        """The solver gap that the noise is scaled for; the truncated answer's may not be larger."""

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          answer: values of G groups on `thresholds`, with a gap of at most `gap`.
        Raises: InvalidParameter for other thresholds or a larger gap, before noise is drawn; EntropyFailed;
          SolverFailed.
        """

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """The loss of a unit with more join tuples than the public bound, over all groups. Public.

        It is `epsilon`, unless amplification by sampling was claimed, which needs that bound.
        """

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval) per threshold, in normalised weight. Public."""


class ServedMeasurement(Measurement, Protocol):
    """A measurement that a server runs: it can tell beforehand whether its noise can be drawn."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that is out of range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """


class GroupMeasurement(Released, Protocol):
    """A mechanism with its budget that releases coded join tuples, one noisy value per group. All but `release` is
    public.

    A unit may be in several groups, so these mechanisms see the tuples. Sampling happened before; a mechanism that
    claims amplification has a `SampleDesign`.
    """

    @property
    def delta(self) -> float:
        """The delta of one release; 0 for pure privacy."""

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          tuples: m join tuples in G groups, from `encode`.
          row: the row of tuples.weights.
        Raises: InvalidParameter for a row or owners per tuple that the mechanism was not made for, before noise is
          drawn; EntropyFailed; SolverFailed.
        """

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) per threshold, in normalised weight. Public."""

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """As `Measurement.epsilon_if_bound_fails`, at the same delta."""


class ServedGroupMeasurement(GroupMeasurement, Protocol):
    """A group measurement that a server runs."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
