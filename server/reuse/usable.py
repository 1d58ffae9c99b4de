"""Which kept releases other answers may be computed from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.plan import Plan, Release
from planner.reuse.outline import REUSABLE
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import MECHANISMS


def usable(noisy: NoisyAnswer) -> bool:
    """Has it intervals with two ends around the truncated answer, and independent noise of a public scale in every
    group?
    """
    finite = np.isfinite(noisy.low) & np.isfinite(noisy.high) & np.isfinite(noisy.noise_scale)
    public = noisy.covers == "truncated_full" and noisy.mechanism in REUSABLE
    return public and bool(np.all(finite & (noisy.noise_scale > 0)))


def holds(plan: Plan, release: Release, noisy: NoisyAnswer) -> bool:
    """Where whoever asks says what nobody exceeds: was nothing cut below that, so that the answer may say so?"""
    most = plan.adds_at_most(release)
    if most is None:
        return True
    scalar = not one_factor([noisy]) and not cut_as_vectors([noisy])
    return scalar and bool(np.all(noisy.tau >= float(most)))


def cut_as_vectors(noisy: Sequence[NoisyAnswer]) -> str | None:
    """The mechanism by which any of them was cut in all groups together, rather than in each; None: by none."""
    named = (
        name for one in noisy for name, known in MECHANISMS.items() if known.bounds_vector and name in one.mechanism
    )
    return next(named, None)


def one_factor(noisy: Sequence[NoisyAnswer]) -> bool:
    """Was any of them cut by one factor for all sums of its own question?"""
    return any(one.mechanism == "joint_scale" for one in noisy)
