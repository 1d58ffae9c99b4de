"""Noise and samples from a seed where rows are measured, so that a test's outcome is not left to chance.

Production has no seed to set: the names that `server.workers.measure` draws from are replaced.
"""

from __future__ import annotations

from types import ModuleType

from server.backends import query_tuples
from server.workers import measure
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

DRAWN_FROM: tuple[tuple[ModuleType, str], ...] = (
    (measure, "OpendpEntropy"),
    (measure, "SystemDraws"),
    (query_tuples, "SystemDraws"),
)
"""Where, and by which name."""


def seed_noise(seed: int = 1) -> None:
    """What this process measures from here on follows from the seed. Module-level: workers of a pool are told so."""
    made = {"OpendpEntropy": SimulatedEntropy(seed), "SystemDraws": SeededDraws(seed)}
    for module, name in DRAWN_FROM:
        setattr(module, name, lambda name=name: made[name])
