"""Error against time, a panel per query, in the manner of the DP-S4S paper's figures 4 and 5."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.vector_study.study import Studied

_MARKS = {
    "default": "o",
    "group_lp, own thresholds": "P",
    "l2_clip": "X",
    "pmsja": "^",
    "s4s_vector": "s",
    "pmsja as published": "v",
    "s4s_vector as published": "D",
}
_LARGEST = 10_000.0
"""Per cent: beyond it a mechanism says nothing, and is drawn at the edge."""


def draw(title: str, found: Mapping[str, Sequence[Studied]], folder: Path) -> None:
    """Write vector_TITLE.svg: a panel per case, a line per mechanism, a mark per sampling rate.

    Without matplotlib (the optional extra `benchmark`) nothing is drawn, with a word about it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        print(f"{title} is not drawn: matplotlib is not installed")
        return
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "noisegate", "svg.fonttype": "none", "font.size": 8}):
        figure, panels = pyplot.subplots(
            1, len(found), figsize=(2.6 * len(found) + 1.6, 2.8), sharey=True, layout="constrained", squeeze=False
        )
        for panel, (case, studied) in zip(panels[0], found.items(), strict=True):
            by_rate = sorted(studied, key=lambda one: one.rate)
            for name, mark in _MARKS.items():
                if name in by_rate[0].errors:
                    times = [one.seconds[name] for one in by_rate]
                    errors = [min(_LARGEST, 100 * one.errors[name]) for one in by_rate]
                    panel.plot(times, errors, marker=mark, markersize=3.5, linewidth=0.8, label=name)
            panel.set(xscale="log", yscale="log", xlabel="seconds", title=case)
            panel.grid(alpha=0.3, linewidth=0.4)
        panels[0][0].set_ylabel("relative L2 error, %")
        panels[0][-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5))
        rates = ", ".join(
            f"1/{1 / one.rate:g}" for one in sorted(next(iter(found.values())), key=lambda one: one.rate)
        )
        figure.suptitle(f"{title}; marks: q = {rates}")
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(
            folder / f"vector_{'_'.join(re.findall('[a-z0-9]+', title.lower()))}.svg", metadata={"Date": None}
        )
        pyplot.close(figure)
