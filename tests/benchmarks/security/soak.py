"""An hour of clients and faults against one proxy, after which ledger, answers and log must agree.

It is no run that goes on where it stopped: MINUTES=10 is a shorter one, and the table says how long it was.
"""

from __future__ import annotations

import os
import time

from tests.benchmarks.parts import Measured
from tests.benchmarks.rows import Row
from tests.security.soak.__main__ import soak as run
from tests.security.soak.faults import FAULTS

_MINUTES, _QUICK_MINUTES = 60.0, 0.5


def soak(quick: bool) -> Measured:
    """What `make soak` says, and how long it went on."""
    minutes = _QUICK_MINUTES if quick else float(os.environ.get("MINUTES", _MINUTES))
    begun = time.monotonic()
    outcome = run(minutes * 60, int(os.environ.get("SEED", "1")))
    for one in outcome.mismatches[:20]:
        print(f"mismatch: {one}")
    bars: dict[str, dict[str, float]] = {
        "attacks held": {"least": outcome.rows["attacks tried"]},
        "faults survived": {"least": outcome.rows["faults injected"]},
        "kinds of fault": {} if quick else {"least": len(FAULTS)},
        "mismatches": {"most": 0},
    }
    lasted = (time.monotonic() - begun) / 60
    rows = [Row("soak", "minutes", lasted, "min", least=None if quick else _MINUTES)]
    rows += [Row("soak", name, float(value), "1", **bars.get(name, {})) for name, value in outcome.rows.items()]
    return Measured(rows)
