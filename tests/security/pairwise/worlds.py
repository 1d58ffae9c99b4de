"""Pairs of neighbouring databases in DuckDB files: one person's rows are in the first and not in the second.

`trade` is TPC-H with a handful of customers, of whom the first one leaves. In `hostile` one person has every value
that breaks careless SQL (infinities, the ends of every type, texts of five thousand letters), and everybody else
has none: if anything fails for a row, it fails in one of the two alone. In `drawn` tables, keys and rows are
random.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from server.demo import tpch
from tests.integration.test_dialects import TYPES as HOSTILE_TYPES
from tests.integration.test_dialects import VALUES as HOSTILE_VALUES
from tests.property.sja_engines import literal
from tests.property.sja_world import Rows, Value, World, policy_text
from tests.support.tpch_duckdb import NAMESPACE, load_tpch

Files = tuple[Path, Path]

_TPCH_POLICY = Path(__file__).parents[2] / "golden" / "tpch" / "policy.toml"
_SCALE = 0.01
_CUSTOMERS, _ORDERS, _LINES = 12, 40, 120
"""Few, so that a statement that joins all with all has a hundred thousand tuples."""


def trade(folder: Path) -> Files:
    """TPC-H, small; and the same without the customer of the first order and all that they own."""
    files = folder / "trade-0.duckdb", folder / "trade-1.duckdb"
    if files[1].exists():
        return files
    source = folder / "tpch.duckdb"
    load_tpch(source, _SCALE)
    for place, file in enumerate(files):
        with duckdb.connect(file) as connection:
            connection.execute(f"ATTACH '{source}' AS whole (READ_ONLY)")
            for statement in _trade_statements(leaves=bool(place)):
                connection.execute(statement)
            connection.execute("DETACH whole")
    return files


def _trade_statements(*, leaves: bool) -> list[str]:
    kept = {name: f"SELECT * FROM whole.{NAMESPACE}.{name}" for name in tpch.TABLES}
    kept["customer"] += f" WHERE c_custkey <= {_CUSTOMERS}"
    orders = (
        f"SELECT o_orderkey FROM whole.{NAMESPACE}.orders WHERE o_custkey <= {_CUSTOMERS} ORDER BY 1 LIMIT {_ORDERS}"
    )
    kept["orders"] += f" WHERE o_orderkey IN ({orders})"
    lines = "ORDER BY l_orderkey, l_linenumber"
    kept["lineitem"] += f" WHERE l_orderkey IN ({orders}) {lines} LIMIT {_LINES}"
    kept["knows"] += f" WHERE src <= {_CUSTOMERS} AND dst <= {_CUSTOMERS}"
    made = []
    for table, columns in tpch.TABLES.items():
        keys = [
            f"FOREIGN KEY ({ours}) REFERENCES {parent}" for child, ours, parent in tpch.FOREIGN_KEYS if child == table
        ]
        made.append(f"CREATE TABLE {table} ({', '.join([columns, *keys])})")
        made.append(f"INSERT INTO {table} {_without_first(kept[table], table) if leaves else kept[table]}")
    return made


def _without_first(rows: str, table: str) -> str:
    """The rows less those that the first order's customer owns."""
    few = f"WHERE o_custkey <= {_CUSTOMERS} ORDER BY o_orderkey LIMIT 1"
    who = f"(SELECT o_custkey FROM whole.{NAMESPACE}.orders {few})"
    owned = {
        "customer": f"c_custkey = {who}",
        "orders": f"o_custkey = {who}",
        "lineitem": f"l_orderkey IN (SELECT o_orderkey FROM whole.{NAMESPACE}.orders WHERE o_custkey = {who})",
        "knows": f"src = {who} OR dst = {who}",
    }
    return f"SELECT * FROM ({rows}) AS r WHERE NOT ({owned.get(table, 'false')})"


def trade_policy() -> str:
    """TPC-H's policy, with every kind of join allowed and no answer held."""
    text = _TPCH_POLICY.read_text().replace("[privacy]\n", "[privacy]\nunbounded_joins = true\nanswer_quantum = 0\n")
    return text.replace("delta = 0.0", "delta = 1e-6").replace("max_epsilon = 4.0", "max_epsilon = 8.0")


_GENTLE: dict[str, tuple[str | None, ...]] = {
    "i": ("3", "-2", "0", "7", None),
    "j": ("5", "1", "9"),
    "n": ("2.50", "-2.50", "1.01", "0.00", None),
    "m": ("0.125", "-7.5", "12", "0"),
    "f": ("0.25", "-1.5", "3", "0", None),
    "r": ("0.5", "-3"),
    "t": ("abc", "a", "", "A b", None),
    "v": ("ab", "xyz"),
    "c": ("ab", "b", "a", None),
    "d": ("2024-02-29", "2020-12-31", "2020-01-31", None),
    "s": ("2024-02-29 23:59:59.5", "2020-01-01", None),
    "z": ("2024-02-29 12:00+00", "2020-12-31 23:59:59+00"),
    "b": ("true", "false", None),
}
PEOPLE, _GENTLE_ROWS, _HOSTILE_ROWS = 6, 24, 40

HOSTILE_POLICY = """
name = "hostile"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
delta = 1e-6
unbounded_joins = true
answer_quantum = 0
[privacy_units]
person = "id"
[tables.word]
public = true
[tables.person.columns]
town = { domain = ["Graz", "Linz"] }
nick = { discover = true, null_group = true }
born = { range = [1950-01-01, 1950-12-31] }
[tables.h.columns]
i = { range = [-3, 10] }
j = { range = [0, 9] }
n = { range = [-100, 1000] }
m = { range = [-100, 1000] }
f = { range = [-100, 1000] }
r = { range = [-100, 1000] }
t = { domain = ["a", "abc", "''--;", ""] }
v = { domain = ["ab", "abc"], other = "others" }
c = { domain = ["a", "b"], null_group = true }
d = { range = [2020-12-01, 2021-01-31] }
s = { range = [2024-02-01, 2024-03-31] }
z = { range = [2024-02-01, 2024-03-31] }
"""
"""Days of two months: of five years, each a group of six statistics, a mechanism that chooses for every group alone
took a third of the time of all questions."""


_NICK = "CASE WHEN x < 4 THEN 'Ann' WHEN x = 6 THEN '' END, CASE WHEN x < 5 THEN DATE '1950-02-28' END"
"""Names and days of birth of people by their number x; the one with hostile values has an empty name."""


def people_sql(numbers: str) -> str:
    """SQL that inserts people by their numbers x."""
    town = "CASE WHEN x % 2 = 0 THEN 'Graz' ELSE 'Linz' END"
    return f"INSERT INTO person SELECT x, {town}, x // 2, {_NICK} FROM {numbers}"


CONSTRUCTS_POLICY = (
    HOSTILE_POLICY.replace("max_epsilon = 8.0", "max_epsilon = 1000.0")
    .replace(
        "d = { range = [2020-12-01, 2021-01-31] }",
        'd = { range = [2020-12-01, 2021-01-31], step = "day", null_group = true }',
    )
    .replace("[tables.h.columns]", "boss = { range = [0, 3], null_group = true }\n[tables.h.columns]")
    .replace(
        "born = { range = [1950-01-01, 1950-12-31] }",
        'born = { range = [1950-01-01, 1950-12-31], step = "day", null_group = true }',
    )
    .replace("i = { range = [-3, 10] }", "i = { range = [-3, 10], null_group = true }")
)
"""The same, in which more columns are keys."""


def hostile(folder: Path) -> Files:
    """Six people with gentle rows and one with every hostile value; and the same without that one."""
    files = folder / "hostile-0.duckdb", folder / "hostile-1.duckdb"
    if files[1].exists():
        return files
    for place, file in enumerate(files):
        with duckdb.connect(file) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("CREATE TABLE word (id bigint PRIMARY KEY, w varchar NOT NULL)")
            connection.execute("INSERT INTO word VALUES (0, 'a'), (1, 'abc'), (3, 'b')")
            connection.execute(
                "CREATE TABLE person (id bigint PRIMARY KEY, town varchar, boss bigint, nick varchar, born date)"
            )
            columns = ", ".join(f"{name} {kind}" for name, kind in HOSTILE_TYPES.items())
            connection.execute(
                f"CREATE TABLE h (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, {columns})"
            )
            people = PEOPLE + (not place)
            connection.execute(people_sql(f"range({people}) t(x)"))
            _fill(connection, _GENTLE, 0, _GENTLE_ROWS, None)
            if not place:
                _fill(connection, HOSTILE_VALUES, _GENTLE_ROWS, _HOSTILE_ROWS, PEOPLE)
    return files


def _fill(
    connection: duckdb.DuckDBPyConnection,
    values: dict[str, tuple[str | None, ...]] | dict[str, list[str | None]],
    first: int,
    count: int,
    person: int | None,
) -> None:
    """Rows in which each column goes through its values at a pace of its own."""
    holes = ", ".join(f"CAST(CAST(? AS text) AS {kind})" for kind in HOSTILE_TYPES.values())
    for row in range(count):
        given = [values[name][row * (place + 1) % len(values[name])] for place, name in enumerate(HOSTILE_TYPES)]
        owner = row % PEOPLE if person is None else person
        connection.execute(f"INSERT INTO h VALUES ({first + row}, {owner}, {holes})", given)


def drawn(folder: Path, rows: Rows, less: Rows) -> Files:
    """Random tables with some rows, and with less."""
    files = folder / "drawn-0.duckdb", folder / "drawn-1.duckdb"
    for file, held in zip(files, (rows, less), strict=True):
        file.unlink(missing_ok=True)
        with duckdb.connect(file) as connection:
            for shape in rows.world.shapes:
                parts = [f"{name} {kind}" for name, kind in shape.columns.items()]
                parts[:3] = [f"{part} NOT NULL" for part in parts[:3]]
                keys = ["PRIMARY KEY (id)", "UNIQUE (u, v)"]
                keys += [
                    f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.references} ({', '.join(key.key)})"
                    for key in shape.references
                    if key.enforced
                ]
                connection.execute(f"CREATE TABLE {shape.name} ({', '.join([*parts, *keys])})")
                for row in held.tables[shape.name]:
                    cells: list[Value] = [row[name] for name in shape.columns]
                    connection.execute(f"INSERT INTO {shape.name} VALUES ({', '.join(map(literal, cells))})")
    return files


def world_policy(world: World) -> str:
    """A random world's own policy, with no answer held."""
    return policy_text(world.shapes).replace("[privacy]\n", "[privacy]\nanswer_quantum = 0\n")
