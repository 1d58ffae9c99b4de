"""Five generated tables of everyday kinds, in DuckDB files, with the policies that their custodians would write.

Everything follows from a seed. No mechanism and no setting was tuned on them. The policies declare ranges and public
domains, and nothing of how many rows one person has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

NAMESPACE = "public"
_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000

Columns = dict[str, NDArray[np.generic]]
Owners = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Everyday:
    """One table of rows, each of which belongs to one person.

    Attributes:
      name: what the table is called in results.
      seed: of all that is drawn.
      people: the table of people; its key is `id`.
      rows: the table of rows; its owner is `owner`, its moment `happened_at`.
      value: the column that is summed; its SQL type, and its declared range.
      shrunk: a bucket of the histogram is the whole part of the value times this.
      groups: by number of groups, the column that is grouped by.
      of_people: are those columns in the table of people?
      first, days: the first day of `happened_at`, and how many days there are.
      make: draws (owner of each row, columns of rows, columns of people).
      delta: of the policy.
    """

    name: str
    seed: int
    n_people: int
    people: str
    rows: str
    value: str
    value_type: str
    low: int
    high: int
    shrunk: str
    groups: Mapping[int, str]
    of_people: bool
    first: str
    days: int
    make: Callable[[np.random.Generator, int], tuple[Owners, NDArray[np.float64], NDArray[np.int64]]]
    delta: float = 0.0

    @property
    def source(self) -> str:
        """What stands after FROM where it is grouped."""
        return f"{self.rows} r JOIN {self.people} p ON r.owner = p.id" if self.of_people else f"{self.rows} r"

    @property
    def groupings(self) -> dict[str, str]:
        """By name, what a question is grouped by; the plain question has none."""
        by = {"plain": ""}
        by |= {f"{count} groups": column for count, column in self.groups.items()}
        return by | {"months": "date_trunc('month', happened_at)"}

    @property
    def policy(self) -> str:
        """As a custodian writes it."""
        domains = "".join(
            f"{column} = {{ domain = {json.dumps(_labels(column, count))} }}\n"
            for count, column in self.groups.items()
        )
        of_people, of_rows = (domains, "") if self.of_people else ("", domains)
        last = np.datetime64(self.first) + np.timedelta64(self.days - 1, "D")
        return f"""
name = "{self.name}"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 10.0
delta = {self.delta}
[privacy_units]
{self.people} = "id"
[[foreign_keys]]
table = "{self.rows}"
columns = ["owner"]
references = "{self.people}"
key = ["id"]
[tables.{self.people}.columns]
{of_people}
[tables.{self.rows}.columns]
{of_rows}
{self.value} = {{ range = [{self.low}, {self.high}] }}
happened_at = {{ range = [{self.first}, {last}] }}
"""

    def load(self, folder: Path) -> Path:
        """Write the database file, unless it is there."""
        file = folder / f"everyday_{self.name}_{self.seed}.duckdb"
        if file.exists():
            return file
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        rng = np.random.default_rng(self.seed)
        owner, value, at = self.make(rng, self.n_people)
        at += np.datetime64(self.first).astype("datetime64[us]").astype(np.int64)
        places = self.n_people if self.of_people else len(owner)
        labels = {column: _drawn(rng, column, count, places) for count, column in self.groups.items()}
        people: dict[str, object] = {"id": np.arange(self.n_people)}
        rows: dict[str, object] = {"id": np.arange(len(owner)), "owner": owner, self.value: value}
        rows["happened_at"] = at.astype("datetime64[us]")
        (people if self.of_people else rows).update(labels)
        with duckdb.connect(str(unfinished)) as connection:
            connection.register("people_rows", pa.table(people))
            connection.register("row_rows", pa.table(rows))
            text = "".join(f", {column} varchar NOT NULL" for column in self.groups.values())
            of_people, of_rows = (text, "") if self.of_people else ("", text)
            connection.execute(f"CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE};")
            connection.execute(f"CREATE TABLE {self.people} (id bigint PRIMARY KEY{of_people})")
            connection.execute(
                f"CREATE TABLE {self.rows} (id bigint PRIMARY KEY, owner bigint NOT NULL REFERENCES {self.people}, "
                f"{self.value} {self.value_type} NOT NULL, happened_at timestamp NOT NULL{of_rows})"
            )
            connection.execute(f"INSERT INTO {self.people} SELECT * FROM people_rows")
            connection.execute(f"INSERT INTO {self.rows} SELECT * FROM row_rows")
        unfinished.rename(file)
        return file


def _labels(column: str, count: int) -> list[str]:
    return [f"{column}{place:03d}" for place in range(count)]


def _drawn(rng: np.random.Generator, column: str, count: int, places: int) -> NDArray[np.str_]:
    """Labels, the k-th as often as (k + 3) to the power of -0.7: some are frequent, and none is empty for long."""
    chance = (np.arange(count) + 3.0) ** -0.7
    drawn: NDArray[np.str_] = np.array(_labels(column, count))[rng.choice(count, places, p=chance / chance.sum())]
    return drawn


def _moments(rng: np.random.Generator, rows: int, days: int) -> NDArray[np.int64]:
    return rng.integers(0, days * _DAY_US, rows)


def _sessions(rng: np.random.Generator, people: int) -> tuple[Owners, NDArray[np.float64], NDArray[np.int64]]:
    """As n to the power of -1.9, up to 3,000 sessions of a user; each has exponential seconds around a mean."""
    many = np.minimum(rng.zipf(1.9, people), 3_000)
    owner = np.repeat(np.arange(people), many)
    seconds = np.minimum(np.ceil(rng.exponential(np.repeat(rng.lognormal(5.0, 0.7, people), many))), 3_599)
    return owner, seconds, _moments(rng, len(owner), 365)


def _grades(rng: np.random.Generator, people: int) -> tuple[Owners, NDArray[np.float64], NDArray[np.int64]]:
    """Eight each, 1 to 6 in halves, around what the pupil usually has."""
    owner = np.repeat(np.arange(people), 8)
    usual = np.repeat(rng.normal(4.2, 0.7, people), 8)
    grade = np.clip(np.round(2 * (usual + rng.normal(0, 0.6, len(owner)))) / 2, 1, 6)
    return owner, grade, _moments(rng, len(owner), 365)


def _payments(rng: np.random.Generator, people: int) -> tuple[Owners, NDArray[np.float64], NDArray[np.int64]]:
    """Log-normal numbers and amounts in cents; 20 customers pay a hundred times as often, and ten times as much."""
    usual, amount = np.ceil(rng.lognormal(1.5, 1.0, people)), rng.lognormal(3.0, 0.8, people)
    heavy = rng.choice(people, 20, replace=False)
    usual[heavy] *= 100
    amount[heavy] *= 10
    many = np.minimum(usual, 3_000).astype(np.int64)
    owner = np.repeat(np.arange(people), many)
    paid = np.repeat(amount, many) * rng.lognormal(0, 0.8, len(owner))
    return owner, np.clip(np.round(paid, 2), 0.01, 5_000), _moments(rng, len(owner), 365)


def _telemetry(rng: np.random.Generator, people: int) -> tuple[Owners, NDArray[np.float64], NDArray[np.int64]]:
    """One temperature per device and day, in tenths, around the device's own; noon and some hours."""
    owner, day = np.repeat(np.arange(people), 60), np.tile(np.arange(60), people)
    usual = np.repeat(rng.normal(21, 4, people), 60) + 3 * np.sin(day / 9)
    degrees = np.clip(np.round(usual + rng.normal(0, 1.5, len(owner)), 1), -20, 60)
    return owner, degrees, day * _DAY_US + rng.integers(0, 24, len(owner)) * _HOUR_US


def _hospital(rng: np.random.Generator, people: int) -> tuple[Owners, NDArray[np.float64], NDArray[np.int64]]:
    """Visits are geometric with a mean of their own, a few per cent come every week; costs are log-normal."""
    mean = np.where(rng.random(people) < 0.02, 80.0, rng.gamma(1.5, 2.0, people) + 1)
    many = rng.geometric(1 / mean)
    owner = np.repeat(np.arange(people), many)
    cost = np.clip(np.round(rng.lognormal(5.5, 1.1, len(owner)), 2), 1, 20_000)
    return owner, cost, _moments(rng, len(owner), 731)


TABLES = (
    Everyday(
        name="sessions", seed=41_001, n_people=20_000, people="site_user", rows="session",
        value="seconds", value_type="integer", low=0, high=3_600, shrunk="0.005",
        groups={5: "device", 50: "country", 500: "page"}, of_people=False, first="2023-01-01", days=365,
        make=_sessions,
    ),
    Everyday(
        name="grades", seed=41_002, n_people=5_000, people="pupil", rows="mark",
        value="grade", value_type="numeric(2, 1)", low=1, high=6, shrunk="2",
        groups={5: "region", 12: "subject", 50: "school", 500: "class"}, of_people=True, first="2023-01-01", days=365,
        make=_grades,
    ),
    Everyday(
        name="payments", seed=41_003, n_people=10_000, people="customer", rows="payment",
        value="amount", value_type="numeric(8, 2)", low=0, high=5_000, shrunk="0.004",
        groups={5: "channel", 50: "category", 500: "merchant"}, of_people=False, first="2023-01-01", days=365,
        make=_payments,
    ),
    Everyday(
        name="telemetry", seed=41_004, n_people=2_000, people="device", rows="reading",
        value="degrees", value_type="numeric(4, 1)", low=-20, high=60, shrunk="0.2",
        groups={5: "model", 50: "site", 500: "batch"}, of_people=True, first="2023-03-01", days=60, make=_telemetry,
    ),
    Everyday(
        name="hospital", seed=41_005, n_people=5_000, people="patient", rows="visit",
        value="cost", value_type="numeric(8, 2)", low=0, high=20_000, shrunk="0.001",
        groups={5: "ward", 50: "diagnosis", 500: "procedure_code"}, of_people=False, first="2022-01-01", days=730 + 1,
        make=_hospital,
    ),
)  # fmt: skip
