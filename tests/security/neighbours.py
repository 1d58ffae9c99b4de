"""Two neighbouring clinics, and a real proxy before each: `noisegate serve`, by HTTP and by the wire.

The second clinic lacks one patient and all that is theirs. They are as exposed as anybody can be: the only one of
their town, the only one in ward X, with a salary like nobody's, a thousand visits, values that break careless SQL,
and a name that stands nowhere else.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import duckdb
import httpx

from server.demo.workplace import free_port
from server.ledger.analyst import Act, Role, credentials_of, new_key
from server.ledger.ledger import Ledger
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.security.game import MARKER, TARGET, Desk, Opens
from tests.security.naive import NaiveProxy
from tests.security.naive_server import naive_server

PEOPLE, VISITS = 150, 600
OWN_VISITS = 1000
LONE_TOWN, LONE_WARD = "Zwingenberg", "X"

TABLES = f"""
    CREATE TABLE ward (name varchar PRIMARY KEY, floor integer NOT NULL);
    CREATE TABLE number (n integer PRIMARY KEY);
    CREATE TABLE patient (
        id bigint PRIMARY KEY, name varchar NOT NULL, town varchar, salary integer NOT NULL, born date NOT NULL
    );
    CREATE TABLE visit (
        id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, ward varchar NOT NULL,
        cost double NOT NULL, day date NOT NULL, note varchar NOT NULL, doses integer[] NOT NULL
    );
    INSERT INTO ward VALUES ('A', 1), ('B', 1), ('C', 2), ('{LONE_WARD}', 9);
    INSERT INTO number SELECT i FROM range(2000) t(i);
    INSERT INTO patient SELECT i, 'patient ' || i, CASE WHEN i % 2 = 0 THEN 'Graz' ELSE 'Linz' END, 1000 + i * 10,
        DATE '1950-01-01' + CAST(i * 100 AS integer) FROM range({PEOPLE}) t(i) WHERE i <> {TARGET};
    INSERT INTO visit SELECT i, p, ['A', 'B', 'C'][i % 3 + 1], 50 + i % 7,
        DATE '2024-01-01' + CAST(i % 300 AS integer), '1', [1, 2]
        FROM (SELECT i, i % {PEOPLE} AS p FROM range({VISITS}) t(i)) WHERE p <> {TARGET};
"""

ONE_MORE = f"""
    INSERT INTO patient VALUES ({TARGET}, '{MARKER}', '{LONE_TOWN}', 0, DATE '9999-12-31');
    INSERT INTO visit SELECT 100000 + i, {TARGET}, '{LONE_WARD}', 9.9e307, DATE '9999-12-31', 'no number (', []
        FROM range({OWN_VISITS}) t(i);
"""

POLICY = """
name = "clinic"
[database]
url = "duckdb:///clinic.duckdb"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
delta = 1e-9
answer_quantum = 0.5
[privacy_units]
patient = "id"
[tables.ward]
public = true
[tables.number]
public = true
[tables.patient.columns]
town = { discover = true }
salary = { range = [0, 5000] }
[tables.visit.columns]
ward = { domain = ["A", "B", "C", "X"] }
cost = { range = [0, 100] }
day = { range = [2024-01-01, 2024-12-31], step = "month" }
[budgets.dataset]
epsilon = 1000000
delta = 1e-3
[budgets.analyst]
epsilon = 10
delta = 1e-6
"""

_START_S = 600.0
_LISTENS = re.compile(r"http://[\d.]+:\d+")
_names = itertools.count(1)


def clinic(folder: Path, *, with_target: bool) -> Path:
    """One of the two, as a DuckDB file in a folder of its own, of which only folders stay as they were."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if left.is_file():
            left.unlink()
    file = folder / "clinic.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute(TABLES)
        if with_target:
            connection.execute(ONE_MORE)
    return file


@dataclass(frozen=True)
class Proxy:
    """A running proxy, and its custodian.

    Attributes:
      folder: with its policy, its ledger and its log.
      process: its number.
      auditor: the key of one.
    """

    folder: Path
    address: str
    wire: int
    process: int
    ledger: Ledger
    auditor: str

    @property
    def log(self) -> Path:
        """What it writes."""
        return self.folder / "proxy.log"

    def account(self, epsilon: float, role: Role = "analyst", name: str | None = None) -> tuple[str, str]:
        """Another analyst; name and key."""
        name, key = name or f"eve-{next(_names)}", new_key()
        self.ledger.add_analyst(name, credentials_of(key), epsilon, 1e-6, role=role)
        return name, key

    def desk(self, epsilon: float) -> Desk:
        """A fresh account's."""
        name, key = self.account(epsilon)
        return Desk(self.address, name, key, self.account, self.log, self.wire, self.auditor)


@contextmanager
def served(
    folders: Sequence[Path],
    settings: str = "",
    module: str = "server.cli.main",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[list[Proxy]]:
    """`noisegate serve` before the database of each folder; they start side by side.

    Args:
      settings: lines of the policy's section `privacy`, instead of those with the same names.
      module: another command line than the product's, for a proxy that is broken on purpose.
      variables: of its environment, beside those of this process.
    """
    with ExitStack() as stack:
        started = [_started(folder, settings, module, variables, stack) for folder in folders]
        yield [replace(proxy, address=_listening(process, proxy.log)) for process, proxy in started]


def _started(
    folder: Path, settings: str, module: str, variables: Mapping[str, str], stack: ExitStack
) -> tuple[subprocess.Popen[bytes], Proxy]:
    policy = folder / "policy.toml"
    policy.write_text(_with(settings))
    ledger, _ = open_or_create(read_policy(policy), policy)
    stack.callback(ledger.close)
    wire = free_port(0)
    command = [sys.executable, "-m", module, "serve", str(policy), "--port", "0", "--wire-port", str(wire)]
    log = stack.enter_context((folder / "proxy.log").open("ab"))
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | dict(variables))
    stack.callback(process.wait, _START_S)
    stack.callback(process.send_signal, signal.SIGTERM)
    proxy = Proxy(folder, "", wire, process.pid, ledger, "")
    return process, replace(proxy, auditor=proxy.account(1.0, "auditor")[1])


def _with(settings: str) -> str:
    lines, text = dict(line.split(" = ") for line in settings.splitlines()), POLICY
    for name, value in lines.items():
        text = re.sub(rf"^{name} = .*$\n?", "", text, flags=re.MULTILINE).replace(
            "[privacy]\n", f"[privacy]\n{name} = {value}\n", 1
        )
    return text


def _listening(process: subprocess.Popen[bytes], log: Path) -> str:
    """Its address, once it answers."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the proxy ended: {log.read_text()}"
        if found := _LISTENS.search(log.read_text()):
            try:
                if httpx.get(f"{found[0]}/health", timeout=5).status_code == 200:
                    return found[0]
            except httpx.TransportError:
                pass
        time.sleep(0.1)
    raise AssertionError("the proxy does not listen")


@dataclass(frozen=True)
class Pair:
    """One kind of proxy before each of the two databases.

    Attributes:
      present, absent: open a desk with a fresh account, before the database with the person and the one without.
      proxies: the same two, where they are real.
      naive: the same two, where they are not.
    """

    present: Opens
    absent: Opens
    proxies: tuple[Proxy, ...] = ()
    naive: tuple[NaiveProxy, ...] = ()

    def anew(self) -> None:
        """The data are said to be new: what was answered before is not given again."""
        for naive in self.naive:
            naive.anew()
        for proxy in self.proxies:
            proxy.ledger.bump_data(Act("custodian", "another round"))


@contextmanager
def real_pair(folder: Path, settings: str = "", module: str = "server.cli.main") -> Iterator[Pair]:
    """Two real proxies, whose catalogs for the other protocol are kept in the folder for the next time."""
    clinic(folder / "with", with_target=True)
    clinic(folder / "without", with_target=False)
    with served((folder / "with", folder / "without"), settings, module) as (one, other):
        yield Pair(one.desk, other.desk, (one, other))


@contextmanager
def naive_pair(folder: Path) -> Iterator[Pair]:
    """Two naive ones."""
    with ExitStack() as stack:
        one, other = (stack.enter_context(_naive(folder / name, name == "with")) for name in ("with", "without"))
        yield Pair(one[0], other[0], naive=(one[1], other[1]))


@contextmanager
def _naive(folder: Path, with_target: bool) -> Iterator[tuple[Opens, NaiveProxy]]:
    file = clinic(folder, with_target=with_target)
    with naive_server(file, folder) as (address, proxy, keys):

        def account(epsilon: float) -> tuple[str, str]:
            number = next(_names)
            name, key = f"eve-{number}", f"{number % 10_000:04d}"
            keys[key], proxy.left[name] = name, epsilon
            return name, key

        def desk(epsilon: float) -> Desk:
            name, key = account(epsilon)
            return Desk(address, name, key, account, proxy.log)

        yield desk, proxy
