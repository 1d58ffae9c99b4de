"""`noisegate init`: from four questions to a policy, an analyst, a running proxy and a first answer; or to
nothing.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import RenderableType

from server.cli.answer_view import answer_table
from server.cli.commands.open_ledger import Port, Wire, WirePort, act, user
from server.cli.commands.policy import dataset_name, no_table
from server.cli.failure import CommandFailed
from server.cli.terminal import printable, show, tell, tell_failure, write

if TYPE_CHECKING:
    from planner.schema import Schema, Table

T = TypeVar("T")

_ENVIRONMENT = "env:NOISEGATE_DATABASE_URL"
_SECRET_FILE = "database.url"
_CATALOG_TIMEOUT_MS = 10_000
_START_S = 600.0  # seconds on a quiet machine; longer than its workers may take, whose words say more
_STOP_S = 60.0
_FIRST_EPSILON = 0.5
_SHOWN = 12
_LISTED = 12  # tables in an error
_LISTENS = re.compile(r"https?://[\w.:\[\]-]+:\d+")


@dataclass(frozen=True)
class _Database:
    """The database of the rows.

    Attributes:
      grants: what would let the role read all tables.
      reference: what the policy names; never a URL that may hold a password.
      secret: written into a file for the reference, or None.
    """

    reference: str
    secret: str | None
    name: str
    schema: Schema
    left_out: tuple[tuple[str, str], ...]
    grants: str


def init(
    url: Annotated[
        str | None,
        typer.Option(
            help="Where the database's URL is: env:NAME or file:PATH; or files: duckdb:///FILE, parquet:///FOLDER, spark+local:///FOLDER.",
            metavar="SECRET",
        ),
    ] = None,
    people: Annotated[str | None, typer.Option(help="The table that holds one row per person.")] = None,
    analyst: Annotated[str | None, typer.Option(help="The first analyst's name.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="That analyst's whole budget.")] = None,
    output: Annotated[Path, typer.Option(help="The policy to write.", dir_okay=False)] = Path("policy.toml"),
    port: Port = 8432,
    wire_port: WirePort = 6432,
    wire: Wire = True,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the proxy after the first answer; for scripts.")] = False,
) -> None:
    """Ask four questions, then write a policy, add an analyst, start the proxy and ask a first question.

    Questions without an option are asked on the terminal: the database's URL, the table of people, the first analyst
    and the budget. Only the structure is read before the first question, which is charged to the analyst. If a step
    fails, everything that was written is removed. The policy protects every table that leads to a person. Its
    comments list what else you can permit later.

    Example:  noisegate init

    Example:  noisegate init --url env:NOISEGATE_DATABASE_URL --people patient --analyst ada --epsilon 10

    Exit codes: 0 stopped on request, 2 not started.
    """
    from planner.policy.draft import likely_people, referred_without_key

    written = _written(output)
    there = [path for path in written if path.exists()]
    if there:
        hint = "choose another --output or remove it; `noisegate serve` starts an existing proxy"
        raise CommandFailed(f"{there[0]} exists already", hint=hint)
    environment = os.environ.get(_ENVIRONMENT.removeprefix("env:"))
    asks = "The database's URL, postgresql://ROLE:PASSWORD@HOST/DATABASE or env:NAME, of a role that may only SELECT"
    usual = _ENVIRONMENT if environment else None
    database = _answered(url, "--url", asks, usual, lambda said: _database(said, output.parent, typed=url is None))
    candidates = likely_people(database.schema)
    names = ", ".join(list(candidates)[:_SHOWN]) + (", ..." if len(candidates) > _SHOWN else "")
    asks = f"Which table holds one row per person ({printable(names)})"
    keyless = printable(", ".join(referred_without_key(database.schema)))
    if keyless:
        tell(
            f"Without a primary key (a unique column without NULL) no person of these tables is protected: {keyless}"
        )
    likely = None if keyless else next(iter(candidates), None)
    unit = _answered(people, "--people", asks, likely, lambda name: _people(name, database))
    name = _answered(analyst, "--analyst", "Who is the first analyst", user(), _analyst)
    said = None if epsilon is None else f"{epsilon:g}"
    budget = _answered(said, "--epsilon", "That analyst's whole budget, an epsilon", "10", _budget)
    text = _policy(database, unit, budget)
    with _stopped_by_signals(), _all_or_nothing(written) as keep:
        key = _set_up(text, output, database, name, budget)
        options = ["--port", str(port), *(["--wire-port", str(wire_port)] if wire else ["--no-wire"])]
        with _proxy(output, options) as (process, address):
            response = _first_answer(address, key, unit[0], min(budget, _FIRST_EPSILON))
            keep()
            show(response)
            tell(f"Wrote {output}. {name}'s key is shown this once:")
            write(key)
            _stay(process, output, stop=stop)


def _answered(given: str | None, option: str, asks: str, default: str | None, read: Callable[[str], T]) -> T:
    """The answer to one question, from its option or the terminal. The terminal asks again after an invalid
    answer.
    """
    from planner.errors import PlannerError
    from server.errors import ServerError

    if given is not None:
        return read(given)
    if not sys.stdin.isatty():
        raise CommandFailed(f"{option} is missing", hint="on a terminal it is asked for")
    while True:
        said = typer.prompt(asks, default=default, err=True)
        try:
            return read(str(said).strip())
        except CommandFailed as failure:
            tell_failure(failure)
        except (ServerError, PlannerError) as error:
            tell_failure(CommandFailed(error.message, hint=error.hint))


def _database(said: str, base: Path, *, typed: bool) -> _Database:
    """Connect, refuse a role that may do more than SELECT, and read the structure."""
    from server.backends.files import FILE_URLS
    from server.backends.open_custody import open_custody
    from server.policy.secrets import resolve

    is_reference = said.startswith(("env:", "file:", *FILE_URLS))
    if not is_reference and not (typed and said.startswith(("postgresql://", "postgres://"))):
        scheme = printable(said.partition("://")[0]) if "://" in said else ""
        if scheme not in ("", "postgresql", "postgres"):
            hint = "convert the files to Parquet (parquet:///FOLDER), or open them by a DuckDB file (duckdb:///FILE)"
            raise CommandFailed(f"databases of the kind {scheme} are not read", hint=hint)
        hint = "postgresql://ROLE:PASSWORD@HOST/DATABASE" if typed else "no password may stand in a command"
        raise CommandFailed("name the URL by env:NAME or file:PATH" if not typed else "this is no URL", hint=hint)
    url = resolve(said, base)
    with open_custody(url, (), _CATALOG_TIMEOUT_MS) as custody:
        custody.refuse_unsafe_role()
        namespaces = custody.namespaces()
        schema = custody.schema(namespaces)
        left_out = tuple(custody.left_out(namespaces))
        grants = printable(custody.grants(namespaces))
        name = custody.name
    if not schema.tables:
        raise no_table(grants)
    if grants:
        tell(f"The role cannot read all tables. To have the others, run as the database's owner: {grants}")
    reference, secret = (said, None) if is_reference else (f"file:{_SECRET_FILE}", said)
    return _Database(reference, secret, name, schema, left_out, grants)


def _people(name: str, database: _Database) -> tuple[str, tuple[str, ...]]:
    from planner.policy.draft import with_likely_keys
    from planner.policy.ownership import row_key
    from planner.schema import sql_name

    tables = with_likely_keys(database.schema).tables
    named = [table for table in tables.values() if name in _spellings(table)]
    table = tables.get(name) or (named[0] if len(named) == 1 else None)
    if table is None and named:
        several = " or ".join(f"'{sql_name(one.name)}'" for one in named)
        raise CommandFailed(
            f"{printable(name)} is a table of several schemas", hint=f"name one: {printable(several)}"
        )
    if table is None:
        others = f"; for others: {database.grants}" if database.grants else ""
        raise CommandFailed(
            f"the role can read no table {printable(name)}", hint=_tables_there(name, tables) + others
        )
    key = row_key(table)
    if key is None:
        raise CommandFailed(
            f"{printable(name)} has no primary key (a unique column without NULL), so its rows identify no person",
            hint="add one with ALTER TABLE ... ADD PRIMARY KEY, or choose another table",
        )
    return table.name, key


def _spellings(table: Table) -> tuple[str, ...]:
    """The spellings of a table's name: as in a policy and as in SQL, with and without its schema."""
    from planner.schema import sql_identifier, sql_name

    return (table.name, f'"{table.name}"', sql_name(table.name), table.relation, sql_identifier(table.relation))


def _tables_there(name: str, tables: Mapping[str, Table]) -> str:
    """List the tables as SQL names them, the most similar first."""
    from planner.errors import nearest
    from planner.schema import sql_name

    likely = nearest(name, tables)
    listed = [sql_name(one) for one in sorted(tables, key=lambda one: (one != likely, one))]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    there = f"the tables that the role can read: {', '.join(listed[:_LISTED])}{more}"
    return printable(there if likely is None else f"did you mean {listed[0]}? {there}")


def _analyst(name: str) -> str:
    from server.ledger.writes.administer import check_name

    check_name(name)
    return name


def _budget(said: str) -> float:
    from server.ledger.currency import granted_epsilon

    try:
        budget = float(said)
    except ValueError:
        raise CommandFailed("a budget is a number, such as 10", hint="each answer spends a part of it") from None
    granted_epsilon(budget)
    return budget


def _policy(database: _Database, unit: tuple[str, tuple[str, ...]], budget: float) -> str:
    """A policy that fits the database as it is. Raises: PolicyInvalid if something must be decided first."""
    from planner.errors import PolicyInvalid
    from planner.policy.draft import draft
    from planner.policy.policy import parse_policy
    from planner.policy.validate import validate

    text = draft(database.schema, dataset_name(database.name), units=dict([unit]), left_out=database.left_out)
    text = text.replace(json.dumps(_ENVIRONMENT), json.dumps(database.reference), 1)
    dataset = f"[budgets.dataset]\nepsilon = {max(50.0, 5 * budget):g}\n"
    text = text.replace("[budgets.dataset]\nepsilon = 50\n", dataset, 1)
    try:
        validate(parse_policy(text), database.schema)
    except PolicyInvalid as error:
        hint = "write a policy with `noisegate policy init`, and change in it what the message names"
        raise CommandFailed(error.message, hint=hint) from error
    return text


def _set_up(text: str, output: Path, database: _Database, analyst: str, budget: float) -> str:
    """Write the secret and the policy, create the ledger and add the analyst; returns the key."""
    from server.ledger.analyst import credentials_of, new_key
    from server.policy.accepted_policy import read_policy
    from server.policy.open_ledger_of_policy import open_or_create

    try:
        if database.secret is not None:
            descriptor = os.open(output.parent / _SECRET_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(database.secret + "\n")
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        hint = "run it in a folder that you may write, or name one by --output"
        raise CommandFailed(f"{output} cannot be written: {error.strerror}", hint=hint) from error
    policy = read_policy(output)
    ledger, _ = open_or_create(policy, output)
    key = new_key()
    with closing(ledger):
        why = act("noisegate init")
        ledger.add_analyst(analyst, credentials_of(key), budget, policy.delta_of_analyst, act=why)
    return key


def _written(output: Path) -> tuple[Path, ...]:
    """Every file that setting up a proxy creates."""
    ledger = output.parent / "ledger.sqlite"
    sides = (ledger.with_name(f"ledger.sqlite{side}") for side in ("-wal", "-shm", ".lock"))
    beside = (output.with_suffix(ending) for ending in (".ledger.json", ".accepted.toml", ".catalog"))
    return output, output.parent / _SECRET_FILE, ledger, *sides, *beside


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM and a closed terminal do what Ctrl-C does. The proxy has its own process group, which they do
    not reach.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _all_or_nothing(written: tuple[Path, ...]) -> Iterator[Callable[[], None]]:
    """Remove the new files, unless the yielded function was called."""
    done: list[bool] = []
    try:
        yield lambda: done.append(True)
    except BaseException:
        for path in () if done else written:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


@contextmanager
def _proxy(output: Path, options: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `noisegate serve` and print its messages; yields the process and its address, and stops it at the end.

    Raises: CommandFailed if it ends, or takes too long, before it listens.
    """
    command = [sys.executable, "-m", "server.cli.main", "serve", str(output), *options]
    process: subprocess.Popen[str] | None = None
    addresses: queue.Queue[str | None] = queue.Queue()
    try:
        with _uninterrupted():
            # A group of its own: Ctrl-C reaches this command only, and the proxy stops once.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0
            )
            threading.Thread(target=_forward, args=(process, addresses), daemon=True).start()
        try:
            address = addresses.get(timeout=_START_S)
        except queue.Empty:
            address = None
        if address is None:
            raise CommandFailed(
                "the proxy did not start; all files that were written are removed",
                hint="its messages are above; fix the problem and run `noisegate init` again",
            )
        yield process, address
    finally:
        if process is not None:
            _stop(process)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Raise an interrupt after these lines, not within: no process starts that nobody knows. A mask would be the
    child's, too.
    """
    signals: list[int] = []
    heard = filter(lambda one: callable(signal.getsignal(one)), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    before = {number: signal.signal(number, lambda number, _: signals.append(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signals:
        raise KeyboardInterrupt


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _forward(process: subprocess.Popen[str], addresses: queue.Queue[str | None]) -> None:
    """Print the proxy's messages, and pass on its address; None when it has ended."""
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            if '"level": "info"' not in line:  # the log of what goes well
                tell(printable(line.rstrip("\n")))
            found = _LISTENS.search(line) if "listens on" in line else None
            if found is not None:
                addresses.put(found[0])
    addresses.put(None)


def _first_answer(address: str, key: str, table: str, epsilon: float) -> RenderableType:
    """Ask for the number of people, as an analyst would."""
    from planner.schema import name_parts
    from server.cli.client import answered, read_body
    from server.http.answer_body import AnswerBody

    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name_parts(table))
    sql = f"SELECT count(*) FROM {quoted}"
    tell(f"Asking at epsilon {epsilon:g}: {printable(sql)}")
    text = answered(address, key, {"sql": sql, "epsilon": epsilon}, sql=sql, idempotency_key=None)
    return answer_table(read_body(AnswerBody, text, address).response())


def _stay(process: subprocess.Popen[str], output: Path, *, stop: bool) -> None:
    """Wait until Ctrl-C or a signal stops the proxy (`_stopped_by_signals`)."""
    if stop:
        return
    tell(f"The proxy runs until Ctrl-C; `noisegate serve {output}` starts it again, and reloads it at SIGHUP.")
    tell("Next: export NOISEGATE_KEY=... and run `noisegate shell`. To permit more questions, follow the")
    tell("policy's comments and run `noisegate policy check`. `noisegate query --practice` asks made-up rows, free.")
    tell(f"`noisegate tune --policy {output} --epsilon 1` measures contributions to choose bounds: answers about")
    tell("whole tables get more accurate, and its epsilon becomes part of every analyst's guarantee.")
    tell(f"After each load of new rows: `noisegate data bump --check --policy {output} --reason WHY`; for cron, too.")
    try:
        process.wait()
    except KeyboardInterrupt:
        return
