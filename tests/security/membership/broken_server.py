"""`noisegate serve` with a mechanism that is broken on purpose: this module, with BROKEN=noise or BROKEN=sensitivity.

For the game alone, which has to catch it: nothing of the product knows of it. Worker processes import the module that
their parent was started with, so what is planted here is planted in them, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import Any

from privacy.entropy import MIN_SCALE, OpendpEntropy
from privacy.mechanisms.noise import ThresholdNoise
from server.cli import main as command_line

VARIABLE = "BROKEN"


def _quarter_the_noise() -> None:
    """Every draw has a quarter of the scale that was asked for."""

    def quartered(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, scale, size: draw(self, max(MIN_SCALE, scale / 4), size)

    for name in ("laplace", "gaussian"):
        setattr(OpendpEntropy, name, quartered(getattr(OpendpEntropy, name)))


def _halve_the_sensitivity() -> None:
    """The scale of a release is what half of its sensitivity needs."""
    name = "scale"  # also of IntegerNoise, which inherits it
    setattr(ThresholdNoise, name, _halved(ThresholdNoise.__dict__[name]))


def _halved(computed: cached_property[float]) -> property:
    return property(lambda self: float(computed.func(self)) / 2)


PLANTED: dict[str, Callable[[], None]] = {"noise": _quarter_the_noise, "sensitivity": _halve_the_sensitivity}

if VARIABLE in os.environ:
    PLANTED[os.environ[VARIABLE]]()

if __name__ == "__main__":
    command_line.main()
