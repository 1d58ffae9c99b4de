"""`noisegate demo`: load, ask, show, stay up."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from threading import Thread

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from server.demo.asking import Answer, ask, client, true_values
from server.demo.queries import QUERIES, DemoQuery
from server.demo.report import print_answers, print_questions
from server.demo.workplace import (
    WIRE_PORT,
    Demonstration,
    add_analyst,
    free_port,
    new_data,
    prepare,
    proxy,
)
from server.workers.kernel_compiler import compile_kernels

_BUDGET = 20.0


def demonstrate(folder: Path, *, stay: bool) -> None:
    """Load what is not loaded, ask every question, show the answers beside the truth.

    Args:
      folder: holds all that the demonstration writes.
      stay: go on until Ctrl-C, for more questions; nothing is left running either way.
    Raises: ConfigurationInvalid when a part is not installed, or another demonstration runs in the folder.
    Cost: some 40 seconds and 0.6 GB of disk the first time, from then on five.
    """
    console = Console(width=int(os.environ.get("COLUMNS", "118")) if not sys.stdout.isatty() else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that what was started is stopped
    demonstration = _prepared(console, folder)
    try:
        _run(console, demonstration, stay)
    except KeyboardInterrupt:
        console.print("stopped")
    finally:
        demonstration.server.stop()


def _prepared(console: Console, folder: Path) -> Demonstration:
    """The loaded database, with progress shown."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        compiling = Thread(target=_compile, args=(progress,))  # beside loading, which mostly waits for PostgreSQL
        compiling.start()
        try:
            demonstration = prepare(folder, progress, lambda line: console.print(line, style="yellow"))
        finally:
            compiling.join()
    console.print(f"TPC-H and a social graph are loaded in an embedded PostgreSQL under {folder}")
    return demonstration


def _compile(progress: Progress) -> None:
    task = progress.add_task("", total=None, visible=False)
    compile_kernels(lambda line: progress.update(task, description=line, visible=True))
    progress.remove_task(task)


def _run(console: Console, demonstration: Demonstration, stay: bool) -> None:
    analyst = f"demo-{time.time_ns()}"
    key = add_analyst(demonstration, _BUDGET, name=analyst)
    new_data(demonstration)
    wire_port = free_port(WIRE_PORT if stay else 0)  # somebody else may want the usual one
    with proxy(demonstration, options=("--wire-port", str(wire_port))) as address:
        console.print(f"the proxy listens on {address}; a new analyst has a budget of epsilon {_BUDGET:g}")
        print_questions(console, QUERIES)
        print_answers(console, _answers(console, demonstration, address, key))
        if not stay:
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
        f'{_program()} query "{question}" --url {address} --key-file {key_file}',
        f'curl -s {address}/v1/query -H "Authorization: Bearer $(cat {key_file})" '
        f"-H 'Content-Type: application/json' -d '{body}'",
        f'PGPASSWORD=$(cat {key_file}) psql "host=127.0.0.1 port={wire_port} dbname=demo user={analyst}"',
    )
    for line in lines:
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    console.print("Ctrl-C stops the proxy and the database.")


def _program() -> str:
    """How this terminal calls this very program: by its name where the shell finds it."""
    beside = Path(sys.executable).with_name("noisegate")
    found = shutil.which("noisegate")
    if not beside.exists() or (found is not None and Path(found).resolve() == beside.resolve()):
        return "noisegate"
    return shlex.quote(os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside))
