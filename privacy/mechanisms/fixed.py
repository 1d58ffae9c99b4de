"""`fixed`: one release at a threshold that is public, because it follows from the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, check_gap, check_groups, exact_epsilon, group_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.answer_with_interval import answer_with_interval, half_widths
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.release import check_rungs, release_noise, released
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise, whole_number
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True)
class Fixed:
    """v(tau) + Lap((1 + gap) tau / eps) at one public threshold: nothing is selected, so the release gets everything.

    epsilon-DP: each group's release spends epsilon / L0 (see ThresholdNoise), and one unit reaches at most L0
    groups. Where a public bound says that no unit has more than tau, v is the plain sum, if the bound is true; if it
    is not, a unit with more is cut to tau, and loses nothing of its privacy. For COUNT(DISTINCT x) where every owner
    of a tuple determines x, one unit reaches one value, so tau = 1 cuts nothing and v is the plain count. The noise
    is that of the truncated count all the same: a unit that reaches more values after all would be cut to one.
    Source: privacy.md section 7.

    Attributes:
      epsilon: for all groups together, > 0.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      ladder: its one threshold tau, chosen without looking at data.
      confidence: of the interval, over the release noise, in (0, 1).
      counts: are values whole numbers, as counts of people are? They then get noise for whole numbers.
    """

    epsilon: float
    groups_per_unit: int | None = None
    gap: float = 0.0
    ladder: Ladder = field(default_factory=lambda: Ladder(0, 0))
    confidence: float = 0.95
    counts: bool = False

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)
        if len(self.ladder) != 1:
            raise InvalidParameter("a fixed threshold is one threshold")

    @property
    def name(self) -> str:
        """`fixed`: a name for records and EXPLAIN; no question asks for it."""
        return "fixed"

    @property
    def budget(self) -> PureBudget:
        """epsilon, over all groups."""
        return PureBudget(self.epsilon)

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at epsilon, over all groups."""
        return self.budget.event

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Args:
          answer: values of G groups on `ladder`, with a gap of at most `gap`.
          entropy: where the noise comes from.
        Returns: the noisy values; each interval covers the truncated answer.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: G draws, and the solves that the bounds leave open.
        """
        check_answer(answer, self.ladder, self.gap)
        rung = self._rung(answer.n_groups)
        index = np.zeros(answer.n_groups, np.intp)
        noise = release_noise(index, (rung,), entropy)
        exact = np.array([answer.solve(group, 0) for group in range(answer.n_groups)], np.int64)
        values = released(exact, noise, index, (rung,))
        chose_nothing = np.full(answer.n_groups, np.inf)
        return answer_with_interval(values, index, (rung,), chose_nothing, self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        check_rungs((self._rung(n_groups),))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of the interval), in normalised weight, for the one threshold.

        Args:
          n_groups: the number of public groups; it matters when L0 is None or larger.
        """
        return half_widths((self._rung(n_groups),), self.confidence)

    def _rung(self, n_groups: int) -> ThresholdNoise:
        share: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        tau = int(self.ladder.units[0])
        return ThresholdNoise(tau, self.gap, share, whole_number(tau) if self.counts else None)
