"""Mean and median with and without a simple random sample: the simulation of sections 4.2 to 4.4 of its paper."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.published.picture import draw
from tests.benchmarks.published.side_by_side import side_by_side
from tests.benchmarks.rows import Row
from tests.support.papers.sampled_mean import STEPS, SampledMean, SampledMedian, SimpleRandomSample, on_grid
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

_N = 10_001
_DELTA = 1e-5
"""At most 1 / N, as is usual; the paper's number did not survive in our copy."""

_EPSILONS = (0.1, 0.5, 1.0, 3.0)
_SIZES = (_N, 5001, 1001, 101)
_RUNS, _QUICK_RUNS = 150, 15


def centre(quick: bool, folder: Path) -> list[Row]:
    """Mean squared errors, and whether sampling gains where the paper says that it does."""
    rows: list[Row] = []
    panels = {}
    kinds = list(itertools.product(_POPULATIONS, ("median", "mean")))
    parts = [(kind, population, epsilon, quick) for population, kind in kinds for epsilon in _EPSILONS]
    errors_of = dict(zip(parts, side_by_side(_mse, parts), strict=True))
    for population, kind in kinds:
        lines = {}
        for epsilon in _EPSILONS:
            errors = errors_of[kind, population, epsilon, quick]
            at = f"{kind}, {population}, epsilon {epsilon:g}"
            for size, error in zip(_SIZES, errors, strict=True):
                rows.append(Row(at, f"n = {size}, RMSE", error**0.5, "1"))
            rows.append(_gain(kind, population, epsilon, at, min(errors[1:]) / errors[0]))
            lines[f"epsilon {epsilon:g}"] = [size / _N for size in _SIZES], errors
        panels[f"{kind}, {population}"] = lines
    title = "Accuracy gains from sampling: mean squared error"
    draw("published_sampling_gains", title, panels, "sampling rate", "MSE", folder, "xy")
    return rows


def _gain(kind: str, population: str, epsilon: float, at: str, gain: float) -> Row:
    """The least error of a sample as a part of that of the whole; bars where the paper has a finding."""
    metric = "best sample / whole, MSE"
    if kind == "mean":
        return Row(at, metric, gain, "1", least=1.0)
    if epsilon == 0.1 or population == "bimodal":
        return Row(at, metric, gain, "1", most=1.0)
    return Row(at, metric, gain, "1")


_POPULATIONS = ("lognormal", "bimodal")


def _population(name: str) -> tuple[NDArray[np.float64], float]:
    """Lognormal(5, 0.5) on [0, 2000], or the bimodal population of appendix B on [0, 1], with the largest value."""
    rng = np.random.default_rng(123)
    lognormal = np.minimum(rng.lognormal(5, 0.5, _N), 2000)
    if name == "lognormal":
        return lognormal, 2000.0
    two = np.concatenate([rng.beta(2, 10, (_N + 1) // 2) / 2, rng.beta(2, 10, _N // 2) + 1])
    return (two - two.min()) / (two.max() - two.min()), 1.0


def _mse(kind: str, population: str, epsilon: float, quick: bool) -> list[float]:
    """Per size, around the true value; every size sees the same seeds, so that a gain is not one of luck."""
    values, most = _population(population)
    truth = float(np.median(values) if kind == "median" else values.mean())
    runs = _QUICK_RUNS if quick else _RUNS
    errors = []
    for size in _SIZES:
        draws, entropy = SeededDraws(3), SimulatedEntropy(4)
        sample = SimpleRandomSample(_N, size)
        made = (
            SampledMedian(epsilon, _DELTA, 0.0, most, sample)
            if kind == "median"
            else SampledMean(epsilon, 0.0, most, sample)
        )
        if isinstance(made, SampledMedian) and size == _N:
            # Nothing is drawn, so every release has the same scale: working it out once is the same simulation.
            scale = made.scale(on_grid(values, 0.0, most))
            off = entropy.laplace(scale, runs) * (most / STEPS)
        else:
            off = np.array([made.release(values, draws, entropy) for _ in range(runs)]) - truth
        errors.append(float((off**2).mean()))
    return errors
