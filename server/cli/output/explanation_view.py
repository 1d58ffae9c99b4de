"""What a query would do and cost, for a person."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from server.cli.output.terminal import printable
from server.explain.explanation_text import by_doubling, explanation_facts, noise_ratio, would_charge
from server.query import Explanation


def explanation_view(explanation: Explanation) -> RenderableType:
    """Facts, the noise as a function of tau, and the statement that the database would get."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, value in explanation_facts(explanation):
        facts.add_row(name, Text(printable(value)))
    facts.add_row("would charge", f"{would_charge(explanation)}; explaining is free")
    if explanation.cannot_pay is not None:
        facts.add_row("would be refused", Text(printable(str(explanation.cannot_pay)), style="bold red"))
    parts: list[RenderableType] = [facts]
    for label, noise in explanation.expected_noise:
        parts.append(
            Text(f"\nNoise of {printable(label)}, 95% of the time, by the contribution bound that will be chosen")
        )
        parts.append(_noise(noise))
    parts.append(Text("\nThe database would get"))
    parts.extend(Text("  " + printable(line)) for line in explanation.rewritten_sql.splitlines())
    return Group(*parts)


def _noise(noise: tuple[tuple[float, float], ...]) -> RenderableType:
    """Pairs of (tau, half-width at 95%): one sentence where the noise is a multiple of tau, else a table."""
    ratio = noise_ratio(noise)
    if ratio is not None:
        bounds = sorted(tau for tau, _ in noise)
        return Text(f"  within {ratio:,.4g} times the bound, which lies between {bounds[0]:.3g} and {bounds[-1]:.3g}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("contribution bound", justify="right", overflow="fold")
    table.add_column("noise within", justify="right", overflow="fold")
    for tau, half_width in by_doubling(noise):
        table.add_row(f"{tau:,.6g}", f"{half_width:,.6g}")
    return table
