"""The short table of the comparison: an error, or what came instead of one."""

from __future__ import annotations

from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.comparison.short_table import libraries


def test_each_cell_says_what_the_system_said() -> None:
    metrics = {
        "Noisegate: relative error, median of 7": 18.75,
        "SmartNoise SQL refuses: no medians": 1,
        "Qrlew, rows 10: relative error, median of 7": 0.4,
        "Qrlew silently wrong: every answer is off by more than half of the truth; times": 1.0,
        "OpenDP, rows 5: relative error, median of 3": 2.345,
        "OpenDP: one release, median": 13.0,
        "Tumult fails: no answer within the 170 s that its program had": 1,
        "Noisegate's error, of the best library's": 8.0,
    }
    rows = [{"case": "visits", "metric": metric, "value": value} for metric, value in metrics.items()]
    heading, _, line = libraries({"rows": rows}).splitlines()
    assert heading.split(" | ")[1:] == ["Noisegate", *(peer.name for peer in PEERS[:-1]), f"{PEERS[-1].name} |"]
    assert line == "| visits | 19% | refuses | wrong | 2.3% | - | - |"
