"""`l1_clip` at a threshold that somebody names, and how many units have more: released beside the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, exact_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clipping.clip import Clip
from privacy.mechanisms.clipping.unit_vectors import UnitVectors
from privacy.mechanisms.noise.integer_noise import IntegerNoise
from privacy.noisy_answer import Exceeding, NoisyAnswer
from privacy.truncation.control import QUIET, Control
from privacy.truncation.loads.length_histogram import VectorsOfSum

COUNT_SHARE = Fraction(1, 10)
"""Of epsilon, what counts the units that have more than the threshold."""

_UP = 1 + 2.0**-40


@dataclass(frozen=True)
class CountedClip:
    """Sums of vectors that are no longer than tau, for 9/10 of epsilon; for 1/10 how many units are longer.

    epsilon-DP. Let a unit u go, with everything that it owns; when it comes, the same holds the other way round.
    What is kept of a unit, C(x) (`UnitVectors`), is a function of its own rows and of tau, which is public: no other
    unit's changes. So the sums over all groups move by C(x_u), of length tau at most. Laplace noise of scale
    tau / (9/10 epsilon) in each group lets their density change by a factor exp(9/10 epsilon) at most. The number of
    units that are longer than tau moves by 1 if u is, else by 0. Discrete Laplace noise of scale 10 / epsilon lets
    its probability change by exp(epsilon / 10) at most. The two noises are independent, so the factors multiply: the
    pair is epsilon-DP. Intervals, and the upper end of the number, follow from the pair and from public numbers.

    The interval, where nobody is longer than A, `at_most`, and beta is 1 - `confidence`. A unit that is longer than
    tau loses x_uf (1 - tau / |x_u|) in group f, in size |x_u| - tau at most, hence A - tau. So N longer units lose
    N (A - tau) together in a group at most, upwards where nobody adds a negative number. N lies above its upper end
    in beta / 2 of all draws, and a group's noise outside of its own interval in beta / 2 of them. So the interval
    that is raised by that many units' loss holds the true sum with `confidence`. If A is not true the interval may
    miss it; privacy rests on tau alone.

    Attributes:
      epsilon: of both together, for all groups.
      ladder: its one threshold tau.
      at_most: A > tau, in normalised weight: what nobody exceeds; None: nothing is promised, and the interval is that
        of the sum of what is kept.
      less: as of `Clip`.
      confidence: of each group's interval, and of the number's upper end or more, in (0, 1).
    """

    epsilon: float
    ladder: Ladder
    at_most: Fraction | None = None
    less: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if len(self.ladder) != 1:
            raise InvalidParameter("a threshold that is named is one threshold")
        if exact_epsilon(self.clip.epsilon) + self.noise.epsilon > exact_epsilon(self.epsilon):
            raise InvalidParameter("the sums and the count spend no more than they have")

    @property
    def clip(self) -> Clip:
        """The release of the sums, with the confidence that is left for them."""
        share = self.epsilon * float(1 - COUNT_SHARE) * DOWN
        return Clip(PureBudget(share), self.ladder, confidence=1 - self._missing, less=self.less)

    @property
    def noise(self) -> IntegerNoise:
        """Of the number of units."""
        return IntegerNoise(1, exact_epsilon(self.epsilon) * COUNT_SHARE)

    @property
    def name(self) -> str:
        """`l1_clip`."""
        return self.clip.name

    @property
    def delta(self) -> float:
        """0: its privacy is pure."""
        return 0.0

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP, over all groups."""
        return PureDP(self.epsilon)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Clip at tau, release one noisy value per group, and how many units have more.

        Args, raises, cost: as of `Clip`.
        """
        vectors = UnitVectors.of_sum(tuples, row, self.less, euclidean=False)
        control.check("clip")
        return self._beside(self.clip.release_at(0, vectors, entropy), vectors, entropy)

    def release_vectors(self, vectors: VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """As `release`, of what a database has added up of the units. Raises: as `release`."""
        return self._beside(self.clip.release_vectors(vectors, entropy), vectors, entropy)

    def _beside(self, noisy: NoisyAnswer, vectors: UnitVectors | VectorsOfSum, entropy: Entropy) -> NoisyAnswer:
        """The sums, and how many units have more."""
        longer = vectors.kept(self.ladder).exceedances
        assert longer is not None, "tuples of one owner are counted by their loads"
        people = int(self.noise.released(np.asarray(longer[0], np.int64), entropy)[0])
        most = max(0, people + self._reach)
        above = most * self._loss
        below = 0.0 if self.less is None else above
        return replace(
            noisy,
            low=noisy.low - below,
            high=noisy.high + above,
            confidence=self.confidence,
            epsilon=self.epsilon,
            exceeding=Exceeding(people, most, below, above),
        )

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval), in normalised weight, where nobody has more than tau."""
        moved = self._reach * self._loss / (2 if self.less is None else 1)
        return [(tau, half + moved) for tau, half in self.clip.expected_noise(n_groups)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range. Public. Raises: InvalidParameter, whenever `release` would."""
        self.clip.check_noise(n_groups)
        check_scale(self.noise.scale)

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    @property
    def _missing(self) -> float:
        """In how much of all draws the noise may lie outside of its interval; as often the number above its end."""
        return (1 - self.confidence) / (1 if self.at_most is None else 2)

    @property
    def _reach(self) -> int:
        """How far the number of units lies above the released one at most."""
        return self.noise.quantile(self._missing)

    @property
    def _loss(self) -> float:
        """What a unit that has more than tau loses at most, in normalised weight; 0 where no interval counts it."""
        if self.at_most is None:
            return 0.0
        return max(0.0, float(self.at_most - Fraction(float(self.ladder.taus[0])))) * _UP
