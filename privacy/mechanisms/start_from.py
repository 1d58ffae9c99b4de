"""A measurement whose threshold is taken from earlier answers, so that all of its budget goes to the release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms.clipping.clip import Clip
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.bound_first import BoundFirst, bound_ladder
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.selection.remembered import Foretold, Told, foretold, remembered_rung
from privacy.noisy_answer import NoisyAnswer

M = TypeVar("M")

_HALF_OF_MEAN = 3.0
"""The half-width of a 95% interval in multiples of the noise's mean size: 3.0 of Laplace noise, 2.5 of Gaussian."""

_SPREAD = 0.75
"""The noise of G groups is charged as G^0.75 of it, as where one threshold is chosen for all (`SharedThreshold`)."""

AS_MUCH = 1.3
"""A threshold is remembered for up to so many times the epsilon that it was chosen with: the best one grows with
epsilon, and what a choice with less may have overlooked is many times the next answer's noise."""

_NAMES = {"gem": ("gem", "fixed")}
"""Whose answers speak of the same truncated sums, where a mechanism at one threshold has another name."""


@dataclass(frozen=True)
class Earlier:
    """One release of an earlier answer to the same question. Public to whoever paid for it.

    Attributes:
      mechanism: that released it.
      tau: its one threshold, in normalised weight.
      value: the released values of all groups together, in normalised weight.
      noise: the standard deviation of their noise.
      selected: was its threshold chosen privately, or its bound tested, rather than remembered?
      epsilon: what it spent.
      doubt: in normalised weight, what choosing its threshold cost: a value below `CUT_SIGNAL` times that may be cut
        to any part (`NoisyAnswer.signal`). None where nothing tells.
      together: is that of all groups together, rather than of each?
    """

    mechanism: str
    tau: float
    value: float
    noise: float
    selected: bool
    epsilon: float
    doubt: float | None
    together: bool

    @classmethod
    def of(cls, noisy: NoisyAnswer, selected: bool) -> Earlier | None:
        """What a release says; None where it is not of truncated sums at one threshold for all groups."""
        known = noisy.covers == "truncated_full" and len(noisy.tau) > 0 and bool(np.all(noisy.tau == noisy.tau[0]))
        if not known:
            return None
        value = float(noisy.values.sum())
        times = math.sqrt(2) if noisy.noise == "laplace" else 1.0
        noise = times * float(np.sqrt(np.square(noisy.noise_scale).sum()))
        if not (math.isfinite(value) and 0 < noise < math.inf):
            return None
        doubt, together = _doubt(noisy)
        return cls(noisy.mechanism, float(noisy.tau[0]), value, noise, selected, noisy.epsilon, doubt, together)


def _doubt(noisy: NoisyAnswer) -> tuple[float | None, bool]:
    """What `Earlier.doubt` and `Earlier.together` say, from the released signals."""
    signal = noisy.signal
    together = bool(np.all(signal == signal[0]))
    if together:
        seen, size = signal[:1], np.array([max(0.0, float(noisy.values.sum()))])
    else:
        seen, size = signal, np.maximum(noisy.values, 0.0)
    told = (seen > 0) & (size > 0)
    return (float(np.median(size[told] / seen[told])) if told.any() else None), together


@dataclass(frozen=True)
class Expected:
    """What is known of a release at a remembered threshold, before it is made. Public.

    Attributes:
      foretold: what its value should be like.
      doubt, together: as of `Earlier`, of the private choice that the threshold rests on.
    """

    foretold: Foretold
    doubt: float
    together: bool


def can_start(one: object) -> bool:
    """May a measurement take its threshold from earlier answers? A fact of the question, whatever was answered."""
    ladder = _ladder(one)
    return ladder is not None and len(ladder) > 1


def start_from(one: object, earlier: Sequence[Earlier], n_groups: int) -> int | None:
    """Which threshold a measurement should start from, as the exponent of a power of 2; None: it should choose.

    Post-processing of the earlier answers: no private row is needed, and none is read (`remembered_rung`).

    Args:
      one: as it is without a memory.
      earlier: releases of the same sum, the oldest first, all of them told to whoever asks now.
      n_groups: how many groups there were last.
    Returns: a rung that `at_rung` takes, else None: also for mechanisms that remember nothing, where the earlier
      answers had a threshold for each group, and where there is one threshold anyway.
    """
    known = [told for told, _ in _known(one, earlier)]
    if not known:
        return None
    rung, ladder = remembered_rung(known, _price(one, known[-1].rung, n_groups)), _ladder(one)
    return None if rung is None or ladder is None else min(max(rung, ladder.low), ladder.high)


def expected_from(one: object, earlier: Sequence[Earlier], rung: int, n_groups: int) -> Expected | None:
    """What the earlier answers let expect of the release at the threshold that follows from them (`foretold`).

    Args:
      one, earlier, n_groups: as in `start_from`, which returned `rung`.
      rung: the exponent of the threshold.
    Returns: None where nothing is known of its value, or of what the threshold may cut away.
    """
    known = _known(one, earlier)
    told = foretold([told for told, _ in known], rung, _price(one, known[-1][0].rung, n_groups)) if known else None
    chosen = [each for told, each in known if told.selected and told.rung <= rung]
    if told is None or not chosen:
        return None
    newest = chosen[-1]
    assert newest.doubt is not None, "else it does not count as selected"
    return Expected(told, newest.doubt, newest.together)


def marked(
    rungs: Sequence[int | None], expected: Sequence[Expected | None], noisy: Sequence[NoisyAnswer]
) -> tuple[NoisyAnswer, ...]:
    """Releases, of which those at remembered thresholds have the signal of the choices that these rest on.

    Nothing was chosen for such a release, so that it does not say itself how much it may have cut away. Of one that
    is not what was foretold, or of which nothing is known, the signal is 0: it may be cut to any part.

    Args:
      rungs: per release, the exponent of the threshold that it started from, or None where it chose one.
      expected: per release; None, or too few, where nothing is known.
      noisy: the releases.
    """
    every = zip_longest(rungs, expected[: len(noisy)], noisy)
    return tuple(one if rung is None else replace(one, signal=_signal(told, one)) for rung, told, one in every)


def _signal(told: Expected | None, noisy: NoisyAnswer) -> NDArray[np.float64]:
    """As of a release that chose."""
    nothing = np.zeros(len(noisy.values))
    now = Earlier.of(noisy, selected=False)
    if now is not None and told is not None and told.foretold.allows(now.value, now.noise):
        size = np.maximum(nothing + now.value if told.together else noisy.values, 0.0)
        return size / told.doubt if told.doubt > 0 else nothing + np.inf
    return nothing


def _known(one: object, earlier: Sequence[Earlier]) -> list[tuple[Told, Earlier]]:
    """Of earlier releases those that speak of the thresholds of a measurement which can start from them."""
    ladder = _ladder(one)
    if ladder is None or not can_start(one):
        return []
    bound = one.bound if isinstance(one, BoundFirst) else None
    name = str(getattr(one, "name", ""))
    alike = [each for each in earlier if each.mechanism in _NAMES.get(name, (name,))]
    epsilon = float(getattr(one, "epsilon", math.inf))
    told = [(_told(each, ladder, bound, epsilon), each) for each in alike]
    return [(found, each) for found, each in told if found is not None]


def at_rung(one: M, rung: int) -> M:
    """The same measurement at the one threshold 2^rung: nothing is chosen, and the release has the whole budget.

    Privacy: that of the measurement at a public threshold, which holds for every rung, right or wrong: noise for (1 +
    gap) 2^rung on what moves by as much between neighbours (`Fixed`, `SharedThreshold`, `Clip`), or for the move
    that `Clip` names. Its event is the measurement's own, of which a choice has no share. The rung may be a
    function of everything that was released to whoever asks: that is composition with an adaptively chosen public
    parameter, as questions themselves are chosen by earlier answers. It may not be one of the data, nor of what was
    released to others.

    Args:
      one: a measurement that `start_from` has named a rung for.
      rung: the exponent of a threshold of its ladder.
    Sensitivity: (1 + gap) 2^rung, as of any threshold.
    """
    ladder = Ladder(rung, rung)
    made: object = one
    if isinstance(one, Gem):
        made = Fixed(one.epsilon, one.groups_per_unit, one.gap, ladder, one.confidence)
    elif isinstance(one, BoundFirst):
        bound = bound_ladder(one.bound)
        made = replace(one, ladder=bound if bound.units[0] <= ladder.units[0] else ladder, untested=True)
    elif isinstance(one, Clip):
        made = replace(one, ladder=ladder)
    elif isinstance(one, GroupLp):
        made = replace(one, scalar=_scalar_at(one.scalar, ladder))
    return made  # type: ignore[return-value]  # what is not known stays as it is


def _scalar_at(scalar: object, ladder: Ladder) -> SharedThreshold | LaplaceOrGaussian:
    if isinstance(scalar, LaplaceOrGaussian):
        pure, concentrated = replace(scalar.pure, ladder=ladder), replace(scalar.concentrated, ladder=ladder)
        return replace(scalar, pure=pure, concentrated=concentrated)
    assert isinstance(scalar, SharedThreshold), "thresholds of each group are not remembered"
    return replace(scalar, ladder=ladder)


def _ladder(one: object) -> Ladder | None:
    """The thresholds of a mechanism that can start from one; None of any other."""
    if isinstance(one, Gem):
        return one.ladder if one.sample is None else None
    if isinstance(one, BoundFirst | Clip):
        return one.ladder
    if isinstance(one, GroupLp) and not isinstance(one.scalar, Gem):
        scalar = one.scalar
        return scalar.ladder if isinstance(scalar, SharedThreshold | LaplaceOrGaussian) else None
    return None


def _told(each: Earlier, ladder: Ladder, bound: int | None, epsilon: float) -> Told | None:
    """What a release says of its threshold; None of one that is no power of 2, nor the bound.

    Args:
      epsilon: what the next release has.
    """
    mantissa, exponent = math.frexp(each.tau)
    if each.tau == bound:
        rung = math.ceil(math.log2(each.tau))
    elif mantissa == 0.5:
        rung = exponent - 1
    else:
        return None
    selected = each.selected and each.doubt is not None and epsilon <= AS_MUCH * each.epsilon
    return Told(rung, each.value, each.noise, selected) if ladder.low <= rung <= ladder.high else None


def _price(one: object, rung: int, n_groups: int) -> float:
    """What the noise of all groups together is charged at, per unit of tau, at one public threshold."""
    ((tau, half), *_) = at_rung(one, rung).expected_noise(max(1, n_groups))  # type: ignore[attr-defined]
    return float(max(1, n_groups) ** _SPREAD * half / (_HALF_OF_MEAN * tau))
