"""The Renyi divergence of two normal distributions, from their densities."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad


def divergence(distance: float, sigma: float, other: float, alpha: float, dimension: int) -> float:
    """D_alpha(N(0, sigma^2 1_d) || N(distance e_1, other^2 1_d)): Lemma 2.8 of DP-S4S."""
    x = (1 - alpha) * sigma**2 + alpha * other**2
    if x <= 0:
        return math.inf
    log_variances = 2 * (1 - alpha) * math.log(sigma) + 2 * alpha * math.log(other)
    return alpha * distance**2 / (2 * x) + dimension / (2 * (alpha - 1)) * (log_variances - math.log(x))


def integrated(distance: float, sigma: float, other: float, alpha: float) -> float:
    """The same in one dimension, by quadrature."""

    def log_density(z: float, mean: float, scale: float) -> float:
        return -((z - mean) ** 2) / (2 * scale**2) - math.log(scale * math.sqrt(2 * math.pi))

    def integrand(z: float) -> float:
        return float(np.exp(alpha * log_density(z, 0.0, sigma) + (1 - alpha) * log_density(z, distance, other)))

    reach = 60 * max(sigma, other)
    value, _ = quad(integrand, -reach, reach, limit=500, epsabs=0, epsrel=1e-11, points=[0.0, distance])
    return math.log(value) / (alpha - 1)
