"""Error against time, one picture per query, in the manner of the DP-S4S paper's figures 2 to 5."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from tests.support.scalar_study.study import EPSILONS, Studied

_MARKS = {"gem": "o", "s4s": "s", "r2t": "^", "sample_and_explore": "D", "simple_sampling": "v"}
_LARGEST = 1000.0
"""Per cent: beyond it a mechanism says nothing, and is drawn at the edge."""


def draw(case: str, found: Sequence[Studied], folder: Path) -> None:
    """Write scalar_CASE.svg: a panel per epsilon, a line per mechanism, a mark per sampling rate.

    Time is that of one release at epsilon 1 from tuples in memory. Without matplotlib (the optional extra
    `benchmark`) nothing is drawn, with a word about it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        print(f"{case} is not drawn: matplotlib is not installed")
        return
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "noisegate", "svg.fonttype": "none", "font.size": 8}):
        figure, panels = pyplot.subplots(1, len(EPSILONS), figsize=(10.0, 2.8), sharey=True, layout="constrained")
        for panel, epsilon in zip(panels, EPSILONS, strict=True):
            here = sorted((one for one in found if one.epsilon == epsilon), key=lambda one: one.rate)
            for name, mark in _MARKS.items():
                times = [one.seconds[name] for one in here]
                errors = [min(_LARGEST, 100 * one.errors[name].trimmed) for one in here]
                panel.plot(times, errors, marker=mark, markersize=3.5, linewidth=0.8, label=name)
            panel.plot(
                [one.seconds["gem"] for one in here],
                [100 * one.floor for one in here],
                color="black",
                linestyle=":",
                linewidth=0.8,
                label="floor",
            )
            panel.set(xscale="log", yscale="log", xlabel="seconds of the processor", title=f"eps = {epsilon:g}")
            panel.grid(alpha=0.3, linewidth=0.4)
        panels[0].set_ylabel("relative error, %")
        panels[-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5))
        rates = ", ".join(f"1/{1 / one.rate:g}" for one in here)
        figure.suptitle(f"{case}; marks: q = {rates}")
        folder.mkdir(parents=True, exist_ok=True)
        name = "_".join(re.findall("[a-z0-9]+", case.lower()))
        figure.savefig(folder / f"scalar_{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
