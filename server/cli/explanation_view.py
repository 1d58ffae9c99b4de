"""What a query would do and cost, for a person."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from server.cli.answer_view import privacy_text
from server.cli.terminal import printable
from server.query import Explanation

_SAME_RATIO = 1.001  # a difference that nobody would read


def explanation_view(explanation: Explanation) -> RenderableType:
    """Facts, the noise as a function of tau, and the statement that the database would get."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, value in _facts(explanation):
        facts.add_row(name, Text(value))
    parts: list[RenderableType] = [facts]
    for label, noise in explanation.expected_noise:
        parts.append(
            Text(f"\nNoise of {printable(label)}, 95% of the time, by the contribution bound that will be chosen")
        )
        parts.append(_noise(noise))
    parts.append(Text("\nThe database would get"))
    parts.extend(Text("  " + printable(line)) for line in explanation.rewritten_sql.splitlines())
    return Group(*parts)


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Name and value of each public fact."""
    columns = (f"{printable(column.name)} ({column.type})" for column in explanation.columns)
    yield "answer", ", ".join(columns)
    yield "protects", ", ".join(map(printable, explanation.privacy_units))
    yield "found by", ", ".join(map(printable, explanation.owners))
    for label, bound in explanation.weight_bounds:
        yield "bound per row", f"{bound:,.6g} for {printable(label)}"
    groups = explanation.groups_per_unit
    yield "groups per person", "as many as there are" if groups is None else f"at most {groups}"
    mechanism, reason = printable(explanation.mechanism), printable(explanation.reason)
    yield "mechanism", reason if reason.startswith(mechanism) else f"{mechanism}: {reason}"
    yield "would charge", f"{privacy_text(explanation.epsilon, explanation.delta)} (explaining is free)"


def _noise(noise: tuple[tuple[float, float], ...]) -> RenderableType:
    """Pairs of (tau, half-width at 95%): one sentence where the noise is a multiple of tau, else a table."""
    ratios = [half_width / tau for tau, half_width in noise if tau > 0]
    if ratios and max(ratios) <= min(ratios) * _SAME_RATIO:
        bounds = sorted(tau for tau, _ in noise)
        return Text(
            f"  within {ratios[0]:,.4g} times the bound, which lies between {bounds[0]:.3g} and {bounds[-1]:.3g}"
        )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("contribution bound", justify="right", overflow="fold")
    table.add_column("noise within", justify="right", overflow="fold")
    for tau, half_width in noise:
        table.add_row(f"{tau:,.6g}", f"{half_width:,.6g}")
    return table
