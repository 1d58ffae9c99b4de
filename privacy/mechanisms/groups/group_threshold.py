"""Which groups may be shown: those whose noisy number of privacy units exceeds a public threshold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, check_groups, exact, exact_epsilon, group_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.release import check_rungs, release_noise
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE


@dataclass(frozen=True)
class GroupThreshold:
    """Group g is shown when v_g + Lap((1 + gap) / eps_g) reaches a public threshold; v_g is a count truncated at 1.

    With one owner per tuple v_g is the number of privacy units in the group. With several it is the most tuples that
    can be chosen in which nobody stands twice, fractions allowed: never more than the number of units, and moved by
    one unit by at most 1, where the number of units itself would lose all whom only that unit's tuples connect.

    Two uses, which may come together:

    * a minimum frequency k, over groups that are public: epsilon-DP, as `Fixed`;
    * discovery, delta > 0: the groups are those that the data holds, v_g > 0. A key is none that only tuples have
      which the rule for groups per unit left out, or one unit could bring any number of keys. Between neighbours L0
      groups differ at most. In a group that both have, the noise is epsilon / L0-DP. A group that only one of them
      has belongs to the one unit in which they differ, so v_g <= 1, and it is shown with probability at most
      delta / L0, which makes it (0, delta / L0)-DP: hence (epsilon, delta) for all of them by basic composition, and
      for whatever is then released of the groups that are shown. Where nothing bounds L0: `VoteThreshold`.

    Source: privacy.md section 7; Korolova et al., WWW 2009; tau-thresholding of Wilson et al., PoPETS 2020.

    Attributes:
      epsilon: for all groups together, > 0.
      delta: likewise, in [0, 1); 0 where the groups are public.
      groups_per_unit: L0, or None when only the number of public groups bounds it; discovery needs it.
      gap: eta; the solver's constant relative gap.
      minimum: k >= 1, or None.
    """

    epsilon: float
    delta: float = 0.0
    groups_per_unit: int | None = None
    gap: float = 0.0
    minimum: int | None = None

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 <= self.delta < 1:
            raise InvalidParameter("delta is a probability")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if self.delta > 0 and self.groups_per_unit is None:
            raise InvalidParameter("discovery needs a bound on the groups of one unit")
        if self.delta == 0 and self.minimum is None:
            raise InvalidParameter("a threshold has a minimum, or a delta")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency is at least 1")

    @property
    def name(self) -> str:
        """`group_threshold`: a name for records and EXPLAIN; no question asks for it."""
        return "group_threshold"

    @cached_property
    def ladder(self) -> Ladder:
        """The threshold of truncation, 1: each unit counts once."""
        return Ladder(0, 0)

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta) over all groups; pure where the groups are public."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NDArray[np.intp]:
        """Decide which groups are shown.

        Args:
          answer: counts of tuples, each of the weight 1, of G groups on `ladder`.
          entropy: where the noise comes from.
        Returns: the places of the groups that are shown, rising. Under discovery G and the places are private, and
          only the keys of what is shown may be told.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: G draws, and the solves that the bounds leave open.
        """
        check_answer(answer, self.ladder, self.gap)
        rung = self._rung(answer.n_groups)
        values = _values(answer)
        groups = np.flatnonzero(self._is_there(values))
        noise = release_noise(np.zeros(len(groups), np.intp), (rung,), entropy)
        return groups[values[groups] // rung.step + noise >= self._least_steps(rung)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range for any number of public groups up to this one. Public.

        Under discovery the number is private and does not matter: L0 alone divides epsilon.
        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        check_rungs((self._rung(n_groups),))

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy number of units that is shown. Public.

        Args:
          n_groups: the number of public groups; it matters when L0 is None or larger.
        """
        rung = self._rung(n_groups)
        return self._least_steps(rung) * rung.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """Of the number of units in each group. Public."""
        return self._rung(n_groups).noise_scale

    def _is_there(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(G,) which groups may be shown: all public ones; of found ones those that somebody is in."""
        return values > 0 if self.delta else np.ones(len(values), bool)

    def _least_steps(self, rung: ThresholdNoise) -> int:
        """The least v // step + Z that is shown."""
        asked = 0 if self.minimum is None else self.minimum * (ONE // rung.step)
        if self.delta == 0:
            return asked
        assert self.groups_per_unit is not None, "checked when it was made"
        each = exact(self.delta) / self.groups_per_unit
        tail = float(each * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
        return max(asked, ONE // rung.step + rung.upper_quantile(tail) + 1)

    def _rung(self, n_groups: int) -> ThresholdNoise:
        public = self.delta == 0  # under discovery the number of groups is private, and only L0 may divide
        share = group_epsilon(self.epsilon, self.groups_per_unit, n_groups if public else self.groups_per_unit or 1)
        return ThresholdNoise(int(self.ladder.units[0]), self.gap, share)


def _values(answer: TruncatedAnswer) -> NDArray[np.int64]:
    """(G,) the truncated counts in units, solved where the bounds leave them open."""
    low, high = answer.bounds()
    values = low[:, 0].copy()
    for group in np.flatnonzero(low[:, 0] != high[:, 0]).tolist():
        values[group] = answer.solve(group, 0)
    return values
