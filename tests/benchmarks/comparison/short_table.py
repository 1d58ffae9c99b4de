"""The comparison in one table of errors, for README and docs: what each system says of each question."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.benchmarks.comparison.kept import CASE
from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.rows import by_case

_OURS = "Noisegate"
_NAMES = (_OURS, *(peer.name for peer in PEERS))
_SEVERAL = 10.0


def libraries(document: Mapping[str, object]) -> str:
    """By question and system the relative error, or what came instead of one.

    Args:
      document: what `make benchmark NAME=comparison` has stored.
    """
    lines = [f"| at epsilon 1 | {' | '.join(_NAMES)} |", f"| --- |{' --- |' * len(_NAMES)}"]
    for question, metrics in by_case(document).items():
        if question == CASE:  # says when the libraries were asked, and asks nothing
            continue
        lines.append(f"| {question} | {' | '.join(_cell(name, metrics) for name in _NAMES)} |")
    return "\n".join(lines)


def _cell(name: str, metrics: Mapping[str, float]) -> str:
    """In one or two words. No answer in time is of the machine as much as of the library, and is left open."""
    own = {metric: value for metric, value in metrics.items() if re.match(rf"{re.escape(name)}\b(?!')", metric)}
    if any(metric.startswith(f"{name} refuses:") for metric in own):
        return "refuses"
    if any(metric.startswith(f"{name} silently wrong") for metric in own):
        return "wrong"
    errors = [value for metric, value in own.items() if "relative error" in metric]
    if not errors:
        return "-"
    (error,) = errors
    return f"{error:.0f}%" if error >= _SEVERAL else f"{error:.2g}%"
