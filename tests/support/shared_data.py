"""Real data sets that lie beside the project, never in it."""

from __future__ import annotations

import os
from pathlib import Path


def shared_data(name: str) -> Path:
    """The folder of a data set, which may be absent. NOISEGATE_SHARED_DATA replaces ../shared/data."""
    shared = os.environ.get("NOISEGATE_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")
    return Path(shared) / name
