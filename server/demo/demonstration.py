"""`noisegate demo`: load data, ask through a real proxy, show answers beside true values, and keep running."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import ssl
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

import httpx
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from server.demo.workplace import WIRE_PORT, Demonstration, add_analyst, free_port, new_data, prepare, proxy
from server.libpq import connect
from server.workers.kernel_compiler import compile_kernels


@dataclass(frozen=True)
class DemoQuery:
    """One question.

    Attributes:
      protects: whose presence the answer hides.
      sql: the question, which also gives the true value.
      most: the most that the 95th percentile of the relative error may be at epsilon 1; with groups, of the median
        over the groups.
    """

    name: str
    protects: str
    sql: str
    most: float


REVENUE = "sum(l_extendedprice * (1 - l_discount))"

QUERIES: tuple[DemoQuery, ...] = (
    DemoQuery("orders", "customers", "SELECT count(*) FROM orders", 0.01),
    DemoQuery("lines", "customers", "SELECT count(*) FROM lineitem", 0.01),
    DemoQuery(
        "revenue",
        "customers",
        f"SELECT {REVENUE} AS revenue\n"
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey",
        0.01,
    ),
    DemoQuery(
        "Q5 join",
        "customers and suppliers",
        f"SELECT {REVENUE} AS revenue\n"
        "FROM customer, orders, lineitem, supplier\n"
        "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey\n"
        "  AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey",
        0.05,
    ),
    DemoQuery(
        "edges",
        "customers",
        "SELECT count(*) FROM knows k\nJOIN customer a ON k.src = a.c_custkey JOIN customer b ON k.dst = b.c_custkey",
        0.05,
    ),
    DemoQuery(
        "triangles",
        "customers",
        "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src\nJOIN knows c ON a.src = c.src AND b.dst = c.dst",
        0.05,
    ),
    DemoQuery(
        "by nation",
        "customers",
        f"SELECT n_name, {REVENUE} AS revenue\n"
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey\n"
        "JOIN nation ON c_nationkey = n_nationkey\nGROUP BY n_name",
        0.10,
    ),
)


@dataclass(frozen=True)
class Answer:
    """A noisy answer and the true values.

    Attributes:
      errors: relative error per group (one without GROUP BY).
      truth: true value per group key (key None without GROUP BY).
    """

    body: dict[str, Any]
    seconds: float
    errors: tuple[float, ...]
    truth: dict[object, float]

    @property
    def error(self) -> float:
        """The relative error; the median over groups."""
        return median(self.errors)


def true_values(owner_url: str, query: DemoQuery) -> dict[object, float]:
    """The exact answer, read as the database's owner."""
    with connect(owner_url) as connection:
        rows = connection.execute(query.sql.encode()).fetchall()
    return {row[0] if len(row) == 2 else None: float(row[-1]) for row in rows}


def ask(client: httpx.Client, query: DemoQuery, truth: dict[object, float], epsilon: float = 1.0) -> Answer:
    """Ask one question, measured again, and compare the answer with the true values.

    Raises: RuntimeError if the proxy refuses.
    """
    start = time.perf_counter()
    reply = client.post("/v1/query", json={"sql": query.sql, "epsilon": epsilon, "reuse": "never"})
    seconds = time.perf_counter() - start
    if reply.is_error:
        raise RuntimeError(f"{query.name}: {reply.status_code} {reply.text}")
    body = reply.json()
    values = {row[0] if len(row) == 2 else None: float(row[-1]) for row in body["rows"]}
    errors = tuple(abs(values[key] - true) / abs(true) for key, true in truth.items())
    return Answer(body, seconds, errors, truth)


def client(address: str, key: str, verify: ssl.SSLContext | bool = True) -> httpx.Client:
    """An HTTP client with an analyst's key."""
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300.0, verify=verify)


_LARGE = 1e8


def print_questions(console: Console, queries: tuple[DemoQuery, ...]) -> None:
    """Print each question with its number and whom it protects."""
    for number, query in enumerate(queries, 1):
        console.print(f"\n[bold]{number}. {query.name}[/bold] (protects {query.protects})", highlight=False)
        for line in query.sql.splitlines():
            console.print(f"   {line}", style="cyan", highlight=False, markup=False)


def print_answers(console: Console, answers: list[tuple[DemoQuery, Answer]]) -> None:
    """Print one row per question; a question with groups shows the group of median error."""
    table = Table(title="Answers", title_justify="left")
    table.add_column("query")
    for heading in ("noisy answer", "95% interval", "charge", "left", "true value*", "error*", "time"):
        table.add_column(heading, justify="right")
    for query, answer in answers:
        table.add_row(*_row(query, answer))
    console.print()
    console.print(table)
    for note in sorted({answer.body["note"] for _, answer in answers}):
        console.print(note, highlight=False, soft_wrap=True)
    console.print("For a question with groups, the group with the median error is shown.", highlight=False)
    console.print(
        "* For the demonstration only, read as the database's owner. The proxy never shows it.",
        highlight=False,
        soft_wrap=True,
    )


def _row(query: DemoQuery, answer: Answer) -> tuple[str, ...]:
    body = answer.body
    row = _median_row(answer)
    low_high = body["intervals"][row][-1]
    key = body["rows"][row][0] if len(body["columns"]) == 2 else None
    name = query.name if key is None else f"{query.name} ({str(key).title()})"
    value = body["rows"][row][-1]
    return (
        name,
        _number(value, value),
        f"{_number(low_high['low'], value, unit=False)} to {_number(low_high['high'], value)}",
        f"ε {body['charge']['epsilon']:g}",
        f"ε {body['budget']['epsilon_left']:g}",
        _number(answer.truth[key], value),
        f"{answer.error:.2%}",
        f"{answer.seconds:.2f} s",
    )


def _median_row(answer: Answer) -> int:
    """The row with the median error, which stands for all groups."""
    keys = list(answer.truth)
    ranked = sorted(range(len(keys)), key=lambda index: answer.errors[index])
    key = keys[ranked[(len(ranked) - 1) // 2]]
    names = [row[0] if len(row) == 2 else None for row in answer.body["rows"]]
    return names.index(key)


def _number(value: float | None, beside: float, *, unit: bool = True) -> str:
    """A figure, in millions if the answer beside it is that large; None is an unbounded end."""
    if value is None:
        return "unbounded"
    if abs(beside) < _LARGE:
        return f"{value:,.0f}"
    return f"{value / 1e6:,.1f}" + (" M" if unit else "")


_BUDGET = 20.0


def demonstrate(folder: Path, *, stay: bool) -> None:
    """Load the data if needed, ask every question, and show the answers; with `stay` run until Ctrl-C.

    Nothing keeps running afterwards.
    Raises: ConfigurationInvalid if a part is not installed, or another demonstration runs in the folder.
    Cost: about 40 seconds and 0.6 GB of disk the first time, then five seconds.
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
    wire_port = free_port(WIRE_PORT if stay else 0)  # the usual one may be taken
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
    """Every question answered once; true values are read beside the proxy."""
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
    """The command that starts this program in this terminal: its name if the shell finds it."""
    beside = Path(sys.executable).with_name("noisegate")
    found = shutil.which("noisegate")
    if not beside.exists() or (found is not None and Path(found).resolve() == beside.resolve()):
        return "noisegate"
    return shlex.quote(os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside))
