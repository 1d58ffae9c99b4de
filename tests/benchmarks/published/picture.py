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
        labels = list(dict.fromkeys(label for lines in panels.values() for label in lines))
        drawn = {}
        figure, axes = pyplot.subplots(
            rows, columns, figsize=(2.8 * columns + 1.6, 2.8 * rows), layout="constrained", squeeze=False
        )
        for panel, (case, lines) in zip(axes.ravel(), panels.items(), strict=False):
            for label, (x, y) in lines.items():
                at = labels.index(label)
                mark, color = "os^vDPX*<>"[at % 10], f"C{at % 10}"
                drawn[label] = panel.plot(x, y, marker=mark, color=color, markersize=3.5, linewidth=0.8)[0]
            panel.set(title=case, xlabel=across)
            if "x" in log:
                panel.set_xscale("log")
            if "y" in log:
                panel.set_yscale("log")
            panel.grid(alpha=0.3, linewidth=0.4)
        for first in axes[:, 0]:
            first.set_ylabel(up)
        figure.legend([drawn[label] for label in labels], labels, fontsize=6, loc="outside right center")
        figure.suptitle(title)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
