"""`s4s_fresh`, `s4s_rdp_fresh`: DP-S4S with a sample of its own per threshold, where the published sum is right."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.racing.s4s import S4S
from privacy.noisy_answer import NoisyAnswer
from privacy.published.s4s_rdp import S4SRenyi
from privacy.published.sampled.separate_answers import SeparateAnswers
from privacy.sampling.draws import Draws
from privacy.sampling.scale_up import scale_up
from privacy.sampling.units.explorable import check_single
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE


@dataclass(frozen=True)
class FreshS4S:
    """DP-S4S whose thresholds each see a Bernoulli sample of their own, at L times the sampling.

    Independent samples compose: the privacy loss of each release is that of its own sample, and Algorithm 2 charges
    the sum of these. So the budgets are used just as they are published, and the charge is `epsilon`.
    Source: Algorithms 2 and 3 of DP-S4S (SIGMOD 2026); privacy.md section 3, mode `fresh`.

    Attributes:
      race: the mechanism with its published budgets, for one group.
    """

    race: S4S | S4SRenyi

    def __post_init__(self) -> None:
        if not self.race.published or self.race.groups_per_unit != 1:
            raise InvalidParameter("fresh samples use the published budgets, for one group")

    @property
    def name(self) -> str:
        """`s4s_fresh`, with Laplace noise, or `s4s_rdp_fresh`, with Gaussian noise."""
        return "s4s_fresh" if isinstance(self.race, S4S) else "s4s_rdp_fresh"

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        return self.race.epsilon

    @property
    def delta(self) -> float:
        """0 for pure differential privacy."""
        return 0.0 if isinstance(self.race, S4S) else self.race.delta

    @property
    def event(self) -> PrivacyEvent:
        """The sum of what the releases cost, each amplified by its own sample."""
        return self.race.event_apart

    @property
    def rate(self) -> float:
        """q of each sample."""
        if isinstance(self.race, S4SRenyi):
            return self.race.rate
        assert self.race.sample is not None, "published budgets are for a sample"
        return self.race.sample.rate

    def release(self, tuples: JoinTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Draw L samples and release the largest of their noisy underestimates, divided by q.

        Args:
          tuples: one row per join tuple, one group, one release, weights in [0, ONE].
          draws: where the samples come from.
          entropy: where the noise comes from.
        Returns: `released_sample`; confidence counts the sampling as well.
        Raises: InvalidParameter before anything is drawn; EntropyFailed; SolverFailed.
        Cost: L passes over the tuples, and the solves that the bounds leave open.
        """
        check_single(tuples)
        if tuples.weights.max(initial=0) > ONE:
            raise InvalidParameter("a join tuple weighs at most 1")
        ladder = self.race.ladder
        rungs = [Ladder(exponent, exponent) for exponent in range(ladder.low, ladder.high + 1)]
        answers = tuple(self._answer(tuples, rung, draws) for rung in rungs)
        noisy = self.race.release(SeparateAnswers(answers, ladder), entropy)
        return replace(scale_up(noisy, self.rate, len(ladder)), mechanism=self.name)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight, divided by q as the answer is."""
        return [(tau / self.rate, reach / self.rate) for tau, reach in self.race.expected_noise(n_groups)]

    def _answer(self, tuples: JoinTuples, rung: Ladder, draws: Draws) -> TruncatedAnswer:
        """The truncated answer of one sample at its one threshold."""
        kept = draws.binomial(np.ones(len(tuples.group), np.int64), self.rate).astype(bool)
        owners = tuple(replace(owner, keys=owner.keys[kept], missing=owner.missing[kept]) for owner in tuples.owners)
        sample = replace(tuples, owners=owners, group=tuples.group[kept], weights=tuples.weights[:, kept])
        return truncate(encode(sample), 0, rung, self.race.gap)
