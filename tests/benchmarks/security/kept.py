"""Where the parts of this benchmark keep what they have measured of a whole run: .noisegate/benchmarks/security."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.blocks import Blocks

FOLDER = Path(".noisegate") / "benchmarks" / "security"


def blocks(part: str, wanted: int, unit: str, *, whole: bool) -> Blocks:
    """A part's blocks; what is shorter than a whole run is not kept."""
    return Blocks(FOLDER / f"{part}.jsonl" if whole else None, wanted, unit)
