"""What an epsilon costs behind each sample, as in the paper on sampling and partitioning."""

from __future__ import annotations

import math
from pathlib import Path

from tests.benchmarks.published.picture import draw
from tests.benchmarks.rows import Row
from tests.support.papers.stability import Bernoulli, FractionOf, Sampling, WithoutReplacement

_EPSILONS = [0.1 * step for step in range(1, 21)]


def stability(quick: bool, folder: Path) -> list[Row]:
    """sigma(1), and the curves."""
    samples: dict[str, Sampling] = {
        "Bernoulli 0.1": Bernoulli(0.1),
        "100 without replacement": WithoutReplacement(100),
        "a tenth": FractionOf(0.1),
    }
    curves = {name: (_EPSILONS, [one.sigma(e) for e in _EPSILONS]) for name, one in samples.items()}
    parts = {name: (_EPSILONS, [one.sigma_of_parts(e) for e in _EPSILONS]) for name, one in samples.items()}
    title = "Sampling and partitioning: what epsilon costs"
    draw("published_stability", title, {"a sample": curves, "both parts": parts}, "epsilon", "sigma", folder, "")
    rows = [Row(name, "sigma(1)", one.sigma(1.0), "epsilon") for name, one in samples.items()]
    rows += [Row(name, "sigma(1) of both parts", one.sigma_of_parts(1.0), "epsilon") for name, one in samples.items()]
    theirs = math.log(math.exp(3) * 0.1 + math.e * 0.9)
    return [*rows, Row("a tenth", "ours / theorem 4.7", samples["a tenth"].sigma(1.0) / theirs, "1", most=1.0)]
