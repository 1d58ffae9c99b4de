"""Data sets that grow by one day with each load: a file up to a day, and the rows of the next day appended to it.

TPC-H's orders come on their date and their lines when they are shipped; customers are there from the start. The
site's users, posts, comments and badges come when they were made; rows that are nobody's are left out, as no answer
counts them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import duckdb

from server.demo import tpch
from tests.benchmarks.budget.dashboards import Dashboard
from tests.golden.stackexchange import load as stackexchange
from tests.golden.stackexchange import tables as stackexchange_tables
from tests.support.tpch_duckdb import NAMESPACE, load_tpch

FOLDER = Path(".noisegate") / "benchmarks"
_POLICIES = Path(__file__).parent / "policies"
_CLOSED = "# closed: "


@dataclass(frozen=True)
class Appended:
    """How the rows of a table come: DDL, the column of the day (None: all from the start), and whose rows count."""

    ddl: str
    day: str | None = None
    counted: str = "TRUE"

    def until(self, day: date) -> str:
        """The condition of the rows that are there on a day."""
        return self.counted if self.day is None else f"{self.counted} AND {self._day} <= DATE '{day}'"

    def of(self, day: date) -> str:
        """The condition of the rows that come on a day."""
        return "FALSE" if self.day is None else f"{self.counted} AND {self._day} = DATE '{day}'"

    @property
    def _day(self) -> str:
        return f'CAST("{self.day}" AS date)'


@dataclass(frozen=True)
class GrowingData:
    """A data set.

    Attributes:
      name: the catalogue's.
      whole: the file of all rows there will ever be.
      tables: parents before children.
      first: the day of the first load.
    """

    name: str
    whole: Path
    tables: Mapping[str, Appended]
    first: date

    def day(self, load: int) -> date:
        """The day of a load, from 0."""
        return self.first + timedelta(days=load)

    def policy_text(self, *, closed_periods: bool) -> str:
        """The policy: with the lines that say which periods are closed, or without."""
        text = (_POLICIES / f"{'tpch' if self.name == 'shop' else self.name}.toml").read_text()
        return text.replace(_CLOSED, "") if closed_periods else text

    @property
    def _base(self) -> Path:
        """The file of the first day."""
        return FOLDER / "budget" / f"{self.whole.stem}-{self.first}.duckdb"

    def prepare(self) -> None:
        """Write the file of the first day, once. Cost: seconds; not from two threads at once."""
        if self._base.exists():
            return
        self._base.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._base.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        with duckdb.connect(unfinished) as connection:
            connection.execute(f"ATTACH '{self.whole}' AS whole (READ_ONLY)")
            for name, table in self.tables.items():
                connection.execute(table.ddl)
                connection.execute(f"INSERT INTO {name} {self._rows(name, table.until(self.first))}")
            connection.execute("DETACH whole")
        unfinished.rename(self._base)

    def begun(self, path: Path) -> None:
        """Copy the file of the first day, which was prepared."""
        shutil.copyfile(self._base, path)

    def append(self, path: Path, day: date) -> None:
        """Append the rows of a day."""
        with duckdb.connect(path) as connection:
            connection.execute(f"ATTACH '{self.whole}' AS whole (READ_ONLY)")
            for name, table in self.tables.items():
                if table.day is not None:
                    connection.execute(f"INSERT INTO {name} {self._rows(name, table.of(day))}")

    @staticmethod
    def _rows(name: str, condition: str) -> str:
        return f"SELECT * FROM whole.{NAMESPACE}.{name} WHERE {condition}"


def shop_tables(scale: float) -> GrowingData:
    """TPC-H in the spring of 1998, whether or not its rows are there."""
    days = {"orders": "o_orderdate", "lineitem": "l_shipdate"}
    tables = {name: Appended(_tpch_table(name), days.get(name)) for name in tpch.TABLES if name != "knows"}
    return GrowingData("shop", FOLDER / f"tpch-{scale:g}.duckdb", tables, date(1998, 5, 18))


def shop(scale: float) -> GrowingData:
    """TPC-H in the spring of 1998."""
    data = shop_tables(scale)
    if not data.whole.exists():
        load_tpch(data.whole, scale)
    data.prepare()
    return data


def _tpch_table(name: str) -> str:
    keys = [f"FOREIGN KEY ({own}) REFERENCES {other}" for child, own, other in tpch.FOREIGN_KEYS if child == name]
    return f"CREATE TABLE {name} ({', '.join([tpch.TABLES[name], *keys])})"


def travel_tables() -> GrowingData:
    """The site in the summer of 2017, whether or not its rows are there."""
    appended = {
        "posttypes": (None, "TRUE"),
        "users": ("creationdate", "TRUE"),
        "posts": ("creationdate", "owneruserid IS NOT NULL"),
        "comments": ("creationdate", "userid IS NOT NULL"),
        "badges": ("date", "TRUE"),
    }
    tables = {
        name: Appended(stackexchange_tables.create_table(name), *settings) for name, settings in appended.items()
    }
    return GrowingData("travel", FOLDER / "travel.duckdb", tables, date(2017, 7, 20))


def travel() -> GrowingData | None:
    """The site in the summer of 2017; None where its data is not there."""
    data = travel_tables()
    if not stackexchange.folder().is_dir():
        return None
    if not data.whole.exists():
        stackexchange.load_file(data.whole)
    data.prepare()
    return data


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A file's rows, for the truth; with the function of PostgreSQL that DuckDB lacks."""
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TEMP MACRO to_date(day, form) AS CAST(day AS date)")
        yield connection


def rows_of(path: Path, table: str) -> int:
    """How many rows a table has: what a custodian would say in the policy."""
    with opened(path) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert found is not None
    return int(found[0])


def data_of(dashboards: tuple[Dashboard, ...], scale: float) -> dict[str, GrowingData]:
    """The data sets of dashboards that are there, by name."""
    found: dict[str, GrowingData] = {}
    for name in dict.fromkeys(dashboard.data for dashboard in dashboards):
        data = shop(scale) if name == "shop" else travel()
        if data is None:
            print(f"{name} is left out: {stackexchange.folder()} is not there")
        else:
            found[name] = data
    return found
