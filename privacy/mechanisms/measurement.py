"""The Protocols of mechanisms: of truncated answers, and of the tuples of all groups together.

What every mechanism looks like once its parameters are fixed.

What every mechanism looks like that measures all groups together.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.sums import GroupsOfKinds
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.control import QUIET, Control
from privacy.truncation.histograms import VectorsOfSum
from privacy.truncation.truncate import TruncatedSum
from privacy.truncation.truncated_answer import TruncatedAnswer


class Measurement(Protocol):
    """A mechanism with its budget: truncated answer in, noisy answer out. Everything but `release` is public."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        ...

    @property
    def ladder(self) -> Ladder:
        """The thresholds that the truncated answer must be able to answer."""
        ...

    @property
    def gap(self) -> float:
        """The solver gap that the noise is scaled for; the truncated answer's may not be larger."""
        ...

    @property
    def event(self) -> PrivacyEvent:
        """What one release does to privacy, for the accountant."""
        ...

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Raises: InvalidParameter for an answer on another ladder or with a larger gap, before noise is drawn.
        """
        ...

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """What one release tells about a unit with more join tuples than the public bound, for all groups. Public.

        `epsilon`, unless amplification by sampling was claimed, which rests on that bound.
        """
        ...

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what the interval would be there. Public."""
        ...


class ServedMeasurement(Measurement, Protocol):
    """One that a server runs: it can say beforehand whether its noise can be drawn."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        ...


class GroupMeasurement(Protocol):
    """A mechanism with its budget: coded join tuples in, one noisy value per group out. All but `release` is public.

    One unit may be in several groups, so these mechanisms see the tuples, not each group's truncated answer. Sampling
    has happened before; where it is counted on, the mechanism was told how (a SampleDesign).
    """

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        ...

    @property
    def delta(self) -> float:
        """The delta of one release; 0 for pure differential privacy."""
        ...

    @property
    def event(self) -> PrivacyEvent:
        """What one release does to privacy, for the accountant."""
        ...

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          tuples: m join tuples in G groups, as `encode` returns them.
          row: which row of tuples.weights.
          entropy: where the noise comes from.
          control: watches and stops long solves.
        Raises: InvalidParameter for a row, or owners per tuple, that the mechanism was not made for, before noise is
          drawn; EntropyFailed; SolverFailed; Cancelled.
        """
        ...

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight: what a group's interval would be there. Public."""
        ...

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """What one release tells about a unit beyond the bound that amplification rests on, for all groups. Public.

        At the same delta. `epsilon`, unless amplification by sampling was claimed.
        """
        ...


class ServedGroupMeasurement(GroupMeasurement, Protocol):
    """One that a server runs: it can say beforehand whether its noise can be drawn."""

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        ...


@runtime_checkable
class KindMeasurement(ServedGroupMeasurement, Protocol):
    """One that may let the units of one relation contribute more than those of another (`Mechanism.by_kind`)."""

    def of_kinds(self, kinds: GroupsOfKinds) -> ServedGroupMeasurement:
        """The same, told how many of the groups the units of each relation reach: of all that own tuples. Public."""
        ...


@runtime_checkable
class SumMeasurement(Protocol):
    """One that asks of a sum no more than truncated values, whatever the sum is kept as (`Mechanism.by_loads`)."""

    def release_sum(self, one: TruncatedSum, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group of a sum that is truncated as it is asked for. Raises: as `release`."""
        ...


@runtime_checkable
class VectorMeasurement(Protocol):
    """One that asks of a sum no more than vectors that are scaled to a length (`Mechanism.by_lengths`)."""

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group of a sum that a database has added up. Raises: as `release`."""
        ...
