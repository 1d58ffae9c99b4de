"""One picture: a panel per case, lines over a horizontal axis."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""By name, where the marks of a line stand."""


def draw(
    name: str, title: str, panels: Mapping[str, Lines], across: str, up: str, folder: Path, log: str, rows: int = 1
) -> None:
    """Write NAME.svg; without matplotlib (the optional extra `benchmark`) nothing, with a word about it.

    Args:
      log: the axes that are logarithmic, of `x` and `y`.
      rows: into how many rows the panels are broken.
    """
    if importlib.util.find_spec("matplotlib") is None:
        print(f"{title} is not drawn: matplotlib is not installed")
        return
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "noisegate", "svg.fonttype": "none", "font.size": 8}):
        columns = -(-len(panels) // rows)
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(2.8 * columns + 1.6, 2.8 * rows), layout="constrained", squeeze=False
        )
        for panel, (case, lines) in zip(axes.ravel(), panels.items(), strict=False):
            for (label, (x, y)), mark in zip(lines.items(), "os^vDPX*<>", strict=False):
                panel.plot(x, y, marker=mark, markersize=3.5, linewidth=0.8, label=label)
            panel.set(title=case, xlabel=across)
            if "x" in log:
                panel.set_xscale("log")
            if "y" in log:
                panel.set_yscale("log")
            panel.grid(alpha=0.3, linewidth=0.4)
        for first in axes[:, 0]:
            first.set_ylabel(up)
        axes[0][-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5))
        figure.suptitle(title)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
