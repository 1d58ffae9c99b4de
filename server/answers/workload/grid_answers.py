"""Answers to the questions of a grid, from the marginals of it that were released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.marginals import Reconstruction
from privacy.mechanisms.noise_sums import step_at_most
from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.answers.workload.counted_grid import CountedGrid, Member
from server.answers.workload.plan_workload import PlannedGrid
from server.errors import QueryFailed

MECHANISM = "least_squares"
"""What an answer is said to be released by that follows from several releases."""

_CHANGED = "the groups changed while the questions were measured; they were charged"
_KEPT = "the answers are kept: ask the questions alone, which are finer or coarser by the keys that stayed"


@dataclass(frozen=True, eq=False)
class GridReleases:
    """What was released of a grid.

    Attributes:
      planned: the grid.
      released: by mask.
    """

    planned: PlannedGrid
    released: Mapping[int, Released]

    def noisy(self, member: Member) -> tuple[NoisyAnswer, ...]:
        """What a question releases, estimated from all releases: values, and intervals for the sum of their noises.

        Every release is the exact sums of a group plus independent noise of one scale, so that estimates are
        unbiased, and each interval covers the exact value at its confidence: nothing was cut, if that is true by
        which it was planned.
        Raises: QueryFailed where the public groups are no longer those that were planned with.
        """
        return tuple(self._noisy(member, place) for place in range(len(member.question.plan.releases)))

    def _noisy(self, member: Member, place: int) -> NoisyAnswer:
        counted = self.planned.counted
        mask = counted.mask(member.marginal.axes)
        by_mask = {other: one.noisy[place] for other, one in self.released.items()}
        fit = Reconstruction(counted.grid, {other: _scale(one) for other, one in by_mask.items()})
        values = counted.in_order_of(member, fit.table(mask, self._tables[place]))
        confidence = min(one.confidence for one in by_mask.values())
        noise = fit.noise(mask)
        taus = [float(one.tau.max(initial=0.0)) for one in by_mask.values()]
        # Flooring moves a value by a step, and noise in whole steps is within one of noise that is not.
        reach = noise.upper_quantile((1 - confidence) / 2) + fit.rounding(
            mask, 2 * float(step_at_most(np.array(taus)).max())
        )
        ones = np.ones(len(values))
        return NoisyAnswer(
            values=values,
            tau=ones * min(taus),
            noise_scale=ones * np.sqrt(noise.variance / 2),
            low=values - reach,
            high=values + reach,
            confidence=confidence,
            covers="truncated_full",
            mechanism=MECHANISM,
            epsilon=sum(one.epsilon for one in by_mask.values()),
            signal=ones * np.inf,
        )

    @cached_property
    def _tables(self) -> list[dict[int, NDArray[np.float64]]]:
        """By release, the measured tables."""
        counted = self.planned.counted
        n_releases = len(counted.members[0].question.plan.releases)
        tables: list[dict[int, NDArray[np.float64]]] = [{} for _ in range(n_releases)]
        for mask, one in self.released.items():
            for place, noisy in enumerate(one.noisy):
                table = counted.table(counted.measurable[mask].axes, one.domain, noisy.values)
                if table is None:
                    raise QueryFailed(_CHANGED, hint=_KEPT)
                tables[place][mask] = table
        return tables


def half_width(counted: CountedGrid, scales: Mapping[int, float], mask: int, confidence: float = 0.95) -> float:
    """Half of an interval of a marginal's cells, in normalised weight, from those measured at these scales.

    Args:
      counted: the grid.
      scales: of the Laplace noise of each marginal that is measured, in normalised weight.
      mask: the keys of the marginal that is wanted.
      confidence: of the interval.
    Returns: infinity where it does not follow from them.
    """
    fit = Reconstruction(counted.grid, scales)
    return fit.noise(mask).upper_quantile((1 - confidence) / 2) if fit.follows(mask) else math.inf


def _scale(noisy: NoisyAnswer) -> float:
    """The one scale of a release's noise: it had one threshold to choose from."""
    scales = noisy.noise_scale
    assert noisy.noise == "laplace" and len(scales) and (scales == scales[0]).all(), "one threshold has one noise"
    return float(scales[0])
