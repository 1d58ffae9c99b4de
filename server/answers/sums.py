"""Add up and average cached releases, with intervals for the sum of their noises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.noise_sums import sum_interval
from privacy.noisy_answer import NoisyAnswer

NOWHERE = -1
"""The place of a cached group that belongs to no group of the question."""

_FIELDS = ("values", "tau", "noise_scale", "low", "high", "signal")


@dataclass(frozen=True)
class Term:
    """A cached release, the place of each of its groups, and a factor.

    Attributes:
      noisy: of G_cached groups.
      place: (G_cached,) the question's group that each cached group is a part of, or NOWHERE.
      weights: (G_cached,) or one for all.
    """

    noisy: NoisyAnswer
    place: NDArray[np.int64]
    weights: NDArray[np.float64] | float = 1.0


def variance(noisy: NoisyAnswer) -> NDArray[np.float64]:
    """Return (G,) the variance of each value's noise, without rounding to whole steps."""
    return noisy.noise_scale**2 * (1.0 if noisy.noise == "gaussian" else 2.0)


def noise_widths(noisy: NoisyAnswer) -> NDArray[np.float64]:
    """Return (G,) the half-width of each interval for noise alone: its shorter side.

    The longer side also covers what clipping may have removed, as a new answer's does.
    """
    return np.minimum(noisy.values - noisy.low, noisy.high - noisy.values)


def weighted(releases: Sequence[NoisyAnswer], place: NDArray[np.int64]) -> tuple[Term, ...]:
    """Weight releases of one clipped quantity by their inverse variances, for the least variance of the mean.

    Only noise scales decide, never values, so the mean is unbiased.

    Args:
      releases: with equal thresholds in every group, independent of one another.
    """
    if len(releases) == 1:
        return (Term(releases[0], place),)
    inverse = np.array([1.0 / variance(one) for one in releases])
    shares = inverse / inverse.sum(axis=0)
    return tuple(Term(one, place, share) for one, share in zip(releases, shares, strict=True))


def added_up(terms: Sequence[Term], n_groups: int) -> NoisyAnswer:
    """Add up cached groups, with intervals from the exact distribution of the sum of noises.

    An interval covers the sum of what the cached intervals cover: answers clipped group by group at the chosen
    thresholds. Given these, all noises are independent (`planner.reuse.outline.REUSABLE`).

    Args:
      terms: cached releases of one confidence.
    Returns: one value per group, 0 without noise where no cached group belongs to it. `tau` is the least of the
      parts'. `signal` is the sum in multiples of the cost of all thresholds. `noise_scale` is the noise's standard
      deviation.
    Cost: some milliseconds per different set of noise scales.
    """
    first = terms[0].noisy
    assert all(term.noisy.confidence == first.confidence for term in terms), "one confidence"
    joined = {name: np.concatenate([getattr(term.noisy, name) for term in terms]) for name in _FIELDS}
    weights = np.concatenate([np.broadcast_to(term.weights, len(term.place)) for term in terms])
    spread = np.concatenate([variance(term.noisy) for term in terms]) * weights**2
    gaussian = np.concatenate([np.full(len(term.noisy.values), term.noisy.noise == "gaussian") for term in terms])
    places = np.concatenate([term.place for term in terms])
    costs = np.concatenate([choice_costs(term.noisy) for term in terms])
    counted = np.flatnonzero(places != NOWHERE)
    order = counted[np.argsort(places[counted], kind="stable")]
    bounds = np.searchsorted(places[order], np.arange(n_groups + 1))
    values, deviation, low, high = (np.zeros(n_groups) for _ in range(4))
    tau, signal = np.full(n_groups, joined["tau"].max(initial=0.0)), np.full(n_groups, np.inf)
    for group in range(n_groups):
        own = order[bounds[group] : bounds[group + 1]]
        if not len(own):
            continue
        value = float(joined["values"][own] @ weights[own])
        below, above = sum_interval(
            joined["low"][own],
            joined["high"][own],
            joined["values"][own],
            joined["tau"][own],
            joined["noise_scale"][own],
            gaussian[own],
            weights[own],
            first.confidence,
        )
        values[group], low[group], high[group] = value, value - below, value + above
        deviation[group] = np.sqrt(spread[own].sum())
        tau[group] = joined["tau"][own].min()
        cost = float(np.abs(weights[own]) @ costs[own])
        told = abs(value) if joined["signal"][own].any() else 0.0
        signal[group] = told / cost if cost > 0 else np.inf
    return replace(
        first,
        values=values,
        noise_scale=deviation,
        low=low,
        high=high,
        tau=tau,
        signal=signal,
        noise="gaussian",
        epsilon=0.0,
        delta=0.0,
        mechanism=", ".join(dict.fromkeys(term.noisy.mechanism for term in terms)),
    )


def same_everywhere(noisy: NoisyAnswer, n_groups: int) -> NoisyAnswer:
    """Return one number for all groups: the centre of an average, which all groups of its release share."""
    return part_of(noisy, np.zeros(n_groups, np.int64), np.arange(n_groups)).noisy


def put_together(terms: Sequence[Term], n_groups: int) -> NoisyAnswer:
    """Combine releases that count different rows into one release.

    Args:
      terms: with weights of 1, of one confidence where they are added up. Each group has at least one part.
    Returns: values with their own intervals where each group has one part, whatever the mechanisms; else sums per
      group. Values side by side have the last part's `noise`, on which no interval depends.
    """
    rows = [np.flatnonzero(term.place != NOWHERE) for term in terms]
    parts = [part_of(term.noisy, own, term.place[own]) for term, own in zip(terms, rows, strict=True)]
    places = np.concatenate([part.place for part in parts])
    if len(np.unique(places)) < len(places):
        return added_up(parts, n_groups)
    assert len(places) == n_groups, "each group has a part"
    order = np.argsort(places)
    fields = {name: np.concatenate([getattr(one.noisy, name) for one in parts])[order] for name in _FIELDS}
    return replace(_as_they_are(terms[-1].noisy, fields), confidence=min(term.noisy.confidence for term in terms))


def part_of(noisy: NoisyAnswer, rows: NDArray[np.int64], place: NDArray[np.int64]) -> Term:
    """Return some groups of a release as a term: (P,) their places in it, and (P,) the groups they are a part of."""
    return Term(_as_they_are(noisy, {name: getattr(noisy, name)[rows] for name in _FIELDS}), place)


def _as_they_are(noisy: NoisyAnswer, fields: Mapping[str, NDArray[np.float64]]) -> NoisyAnswer:
    """Return values that were released before, for which nothing is spent now."""
    return replace(noisy, epsilon=0.0, delta=0.0, **cast("dict[str, Any]", fields))


COST_IN_SCALES = 32.0
"""What choosing a threshold is taken to cost, in noise scales, where all released values are 0 or below."""


def choice_costs(noisy: NoisyAnswer) -> NDArray[np.float64]:
    """Return (G,) the cost of each value's threshold choice in the value's unit; 0 where none was chosen.

    It is what the choice may have overlooked (`NoisyAnswer.signal`). In noise scales it is equal in all groups, so a
    value of 0 or below takes it from the others.
    """
    values, signals, scales = noisy.values, noisy.signal, noisy.noise_scale
    told = (signals > 0) & np.isfinite(signals)
    costs = np.where(told, np.abs(values) / np.where(told, signals, 1.0), 0.0)
    most = float(np.max(costs[told] / scales[told])) if told.any() else COST_IN_SCALES
    chosen = np.isfinite(signals) | (values <= 0)
    return np.where(chosen, np.where(told, costs, most * scales), 0.0)
