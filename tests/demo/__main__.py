"""`make demo`: load, ask, show, stay up. DEMO_EXIT=1 exits instead of staying."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from server.errors import ServerError
from tests.demo.asking import Answer, ask, client, true_values
from tests.demo.queries import QUERIES, DemoQuery
from tests.demo.report import print_answers, print_questions
from tests.demo.workplace import (
    ROOT,
    WIRE_PORT,
    Demonstration,
    add_analyst,
    free_port,
    new_data,
    prepare,
    proxy,
)

_BUDGET = 20.0


def main() -> int:
    """Run the demonstration; returns the exit code."""
    console = Console(width=int(os.environ.get("COLUMNS", "118")) if not sys.stdout.isatty() else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that what was started is stopped
    try:
        demonstration = _prepared(console)
    except ServerError as error:
        console.print(f"[red]{error.message}[/red] {error.hint or ''}")
        return 2
    try:
        _run(console, demonstration)
    except KeyboardInterrupt:
        console.print("stopped")
    finally:
        demonstration.server.stop()
    return 0


def _prepared(console: Console) -> Demonstration:
    """The loaded database, with progress shown."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        demonstration = prepare(ROOT / "demo", progress, lambda line: console.print(line, style="yellow"))
    console.print(f"TPC-H and a social graph are loaded in an embedded PostgreSQL under {ROOT / 'demo'}")
    return demonstration


def _run(console: Console, demonstration: Demonstration) -> None:
    analyst = f"demo-{time.time_ns()}"
    key = add_analyst(demonstration, _BUDGET, name=analyst)
    new_data(demonstration)
    wire_port = free_port(0 if os.environ.get("DEMO_EXIT") else WIRE_PORT)  # somebody else may want the usual one
    with proxy(demonstration, options=("--wire-port", str(wire_port))) as address:
        console.print(f"the proxy listens on {address}; a new analyst has a budget of epsilon {_BUDGET:g}")
        print_questions(console, QUERIES)
        print_answers(console, _answers(console, demonstration, address, key))
        if os.environ.get("DEMO_EXIT"):
            return
        _say_how_to_ask(console, address, wire_port, analyst, demonstration.key_file)
        signal.pause()


def _answers(
    console: Console, demonstration: Demonstration, address: str, key: str
) -> list[tuple[DemoQuery, Answer]]:
    """Every question answered once; the truth is read here, beside the proxy."""
    answers = []
    with client(address, key) as http, console.status("asking") as status:
        for query in QUERIES:
            status.update(f"asking: {query.name}")
            answers.append((query, ask(http, query, true_values(demonstration.owner_url, query))))
    return answers


def _say_how_to_ask(console: Console, address: str, wire_port: int, analyst: str, key_file: Path) -> None:
    question = "SELECT count(*) FROM orders WHERE o_orderpriority = '1-URGENT'"
    body = '{"sql": "SELECT count(*) FROM orders"}'
    console.print(
        f"\nLook at it: open {address} in a browser and sign in with the key in {key_file}.", highlight=False
    )
    console.print("Ask more, in another terminal:", highlight=False)
    lines = (
        f'.venv/bin/noisegate query "{question}" --url {address} --key-file {key_file}',
        f'curl -s {address}/v1/query -H "Authorization: Bearer $(cat {key_file})" '
        f"-H 'Content-Type: application/json' -d '{body}'",
        f'PGPASSWORD=$(cat {key_file}) psql "host=127.0.0.1 port={wire_port} dbname=demo user={analyst}"',
    )
    for line in lines:
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    console.print("Ctrl-C stops the proxy and the database.")


if __name__ == "__main__":
    sys.exit(main())
