"""The demonstration's questions, each asked once: what README shows. No error is measured here; `demo` does that."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from server.demo.demonstration import QUERIES, Answer, ask, client, true_values
from server.demo.workplace import ROOT, add_analyst, new_data, prepare, proxy
from tests.benchmarks.rows import Row

_BUDGET = 20.0


def run(quick: bool) -> list[Row]:
    """Each question's answer, the ends of its interval and the truth; with groups, of the group of median error."""
    del quick
    console = Console()
    with Progress(console=console, transient=True) as progress:
        demonstration = prepare(Path(ROOT) / "demo", progress, console.print)
    try:
        key = add_analyst(demonstration, _BUDGET)
        new_data(demonstration)
        rows = []
        with proxy(demonstration, port=0) as address, client(address, key) as http:
            for query in QUERIES:
                answer = ask(http, query, true_values(demonstration.owner_url, query))
                rows += [Row(query.name, metric, value, "1") for metric, value in _shown(answer).items()]
        return rows
    finally:
        demonstration.server.stop()


def _shown(answer: Answer) -> dict[str, float]:
    keys = list(answer.truth)
    ranked = sorted(range(len(keys)), key=lambda place: answer.errors[place])
    key = keys[ranked[(len(ranked) - 1) // 2]]
    names = [row[0] if len(row) == 2 else None for row in answer.body["rows"]]
    row = names.index(key)
    interval = answer.body["intervals"][row][-1]
    return {
        "answer": float(answer.body["rows"][row][-1]),
        "low": float(interval["low"]),
        "high": float(interval["high"]),
        "truth": answer.truth[key],
    }
