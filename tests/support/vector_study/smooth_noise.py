"""Noise of smooth sensitivity over the dimension: ours, as published, and SS-G, as in appendix E of DP-S4S."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from privacy.accounting.event import ORDERS
from privacy.accounting.renyi import divergence_budget
from privacy.errors import InvalidParameter
from privacy.papers.smooth_sensitivity import (
    DESIGN_BOUND,
    GaussianRamp,
    SmoothGaussian,
    best_split,
    least_noise_order,
    smooth_bound,
)
from tests.benchmarks.rows import Row
from tests.support.papers.renyi_sampling import best_order
from tests.support.papers.vectors_as_published import PublishedSmoothGaussian

DIMENSIONS = tuple(2**k for k in range(17))
_BOUNDS = (1.0, 100.0)
_EPSILON, _DELTA = 1.0, 1e-7
_BARS = {1.0: 32.0, 31.0: 82.0}
"""Of sigma at d = 10, epsilon 3.2: what one public pair (alpha, theta) must reach."""

Noise = dict[str, float]


@lru_cache(maxsize=64)
def smooth_gaussian(epsilon: float, delta: float, dimension: int, bound: float = DESIGN_BOUND) -> SmoothGaussian:
    """The measurement worth (epsilon, delta) with the least sigma(bound) over all orders and splits."""

    def gain(alpha: float) -> float:
        rho = divergence_budget(epsilon, delta, alpha)
        return -best_split(dimension, alpha, rho, bound).sigma(bound) if rho > 0 else -math.inf

    best = best_order(gain)
    if best.value == -math.inf:
        raise InvalidParameter("this epsilon and delta are too small for noise at any Renyi order")
    return best_split(dimension, best.alpha, divergence_budget(epsilon, delta, best.alpha), bound)


@dataclass(frozen=True)
class NissimGaussian:
    """SS-G: smooth sensitivity with Gaussian noise (Nissim, Raskhodnikova & Smith 2007), by lemma E.1 of DP-S4S."""

    epsilon: float
    delta: float
    dimension: int

    @property
    def gamma(self) -> float:
        return self.epsilon / (4 * (self.dimension + math.log(2 / self.delta)))

    def sigma(self, bound: float) -> float:
        factor = 5 * math.sqrt(2 * math.log(2 / self.delta)) / self.epsilon
        return factor * smooth_bound(bound, self.gamma, 1.0)


def smooth_noise(folder: Path, dimensions: tuple[int, ...] = DIMENSIONS) -> list[Row]:
    """The bars at d = 10, and sigma over d with its picture."""
    corrected, published = smooth_gaussian(3.2, 1e-7, 10), PublishedSmoothGaussian(3.2, 1e-7, 10)
    rows = []
    for bound, bar in _BARS.items():
        case = f"smooth sensitivity, d 10, eps 3.2, B {bound:g}"
        bars = {"corrected": bar}
        rows += [Row(case, name, value, "1", most=bars.get(name)) for name, value in _noise(10, 3.2, bound).items()]
        rows.append(Row(case, "as published / corrected", published.sigma(bound) / corrected.sigma(bound), "1"))
    found = {bound: [_noise(d, _EPSILON, bound) for d in dimensions] for bound in _BOUNDS}
    for bound, noises in found.items():
        for d, noise in zip(dimensions, noises, strict=True):
            case = f"smooth sensitivity, d {d}, eps {_EPSILON:g}, B {bound:g}"
            rows += [Row(case, name, value, "1") for name, value in noise.items()]
    _draw(found, dimensions, folder)
    return rows


def _noise(dimension: int, epsilon: float, bound: float) -> Noise:
    alpha = least_noise_order(ORDERS[:-1], lambda order: divergence_budget(epsilon, _DELTA, order), dimension)
    ramp = GaussianRamp(dimension, alpha, divergence_budget(epsilon, _DELTA, alpha))
    return {
        "ramp": ramp.sigma(bound),
        "corrected": smooth_gaussian(epsilon, _DELTA, dimension).sigma(bound),
        "as published": PublishedSmoothGaussian(epsilon, _DELTA, dimension).sigma(bound),
        "SS-G": NissimGaussian(epsilon, _DELTA, dimension).sigma(bound),
    }


def _draw(found: dict[float, list[Noise]], dimensions: tuple[int, ...], folder: Path) -> None:
    """Write vector_smooth_sensitivity.svg, a panel per bound on local sensitivity."""
    if importlib.util.find_spec("matplotlib") is None:
        print("smooth sensitivity is not drawn: matplotlib is not installed")
        return
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "noisegate", "svg.fonttype": "none", "font.size": 8}):
        figure, panels = pyplot.subplots(1, len(found), figsize=(7.0, 2.8), sharey=True, layout="constrained")
        for panel, (bound, noises) in zip(panels, found.items(), strict=True):
            for name in noises[0]:
                panel.plot(dimensions, [noise[name] for noise in noises], marker=".", linewidth=0.8, label=name)
            panel.set(xscale="log", yscale="log", xlabel="d", title=f"B = {bound:g}")
            panel.grid(alpha=0.3, linewidth=0.4)
        panels[0].set_ylabel("sigma")
        panels[-1].legend(fontsize=6)
        figure.suptitle(f"smooth sensitivity at eps = {_EPSILON:g}, delta = {_DELTA:g}")
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "vector_smooth_sensitivity.svg", metadata={"Date": None})
        pyplot.close(figure)
