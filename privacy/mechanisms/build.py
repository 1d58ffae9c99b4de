"""Mechanisms by name."""

from __future__ import annotations

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.racing.r2t import R2T
from privacy.mechanisms.racing.s4s import S4S
from privacy.sampling.design import SampleDesign


def measurement(
    name: str,
    epsilon: float,
    groups_per_unit: int | None = None,
    gap: float = 0.0,
    global_sensitivity: float | None = None,
    whole: bool = False,
    tuples_per_unit: int | None = None,
    sample: SampleDesign | None = None,
) -> Measurement:
    """Fix a mechanism's public parameters, for truncated sums, which only grow when a unit comes.

    Args:
      name: `gem`, `r2t`, `s4s` (from one shared sample), or `fixed`: at the threshold 1.
      epsilon: for all groups of the release together, > 0.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta, the solver's constant relative gap.
      global_sensitivity: what one unit adds at most, in normalised weight; `r2t` needs it, others do not.
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help `gem`.
      tuples_per_unit: Delta, a public bound on the join tuples of one unit: a threshold above it cannot help
        `gem`, and `s4s` needs it. If it is false the answer is biased, not less private.
      sample: how the tuples are sampled, if amplification may be claimed; `gem` and `s4s` then add less noise.
    Returns: a measurement; make the truncated answer on its `ladder`.
    Raises: InvalidParameter for an unknown name, a missing bound or a parameter out of range.
    """
    if name == "gem":
        ladder = useful_ladder(whole, tuples_per_unit)
        return Gem(epsilon, groups_per_unit, gap, ladder=ladder, sample=sample, monotone=True)
    if name == "r2t":
        if global_sensitivity is None:
            raise InvalidParameter("r2t needs a global sensitivity")
        return R2T(epsilon, global_sensitivity, groups_per_unit, gap)
    if name == "s4s":
        if tuples_per_unit is None:
            raise InvalidParameter("s4s needs a bound on the tuples of a unit")
        return S4S(epsilon, tuples_per_unit, groups_per_unit, gap, sample)
    if name == "fixed":
        return Fixed(epsilon, groups_per_unit, gap)
    raise InvalidParameter("there is no mechanism of this name")


def useful_ladder(whole: bool, tuples_per_unit: int | None) -> Ladder:
    """The thresholds that can help; a tuple weighs at most 1."""
    full = Ladder(low=0) if whole else Ladder()
    if tuples_per_unit is None:
        return full
    return Ladder(full.low, min(full.high, (tuples_per_unit - 1).bit_length()))
