"""Three generated data sets of people, as DuckDB files for Noisegate and as CSV for other libraries.

Everything follows from a seed. A data set can be written without one person and all that is theirs, which tells
whether an answer protects that person.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

NAMESPACE = "public"
_SEED = 26
_WARDS = ("Cardiology", "Geriatrics", "Maternity", "Neurology", "Oncology", "Surgery")
_SEGMENTS = ("building", "furniture", "household", "machinery")
_NATIONS = 5

_HEAD = """
name = "comparison"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 10.0
delta = 0.0
"""
"""What each policy says besides: the default charge, and that no answer may fail to protect."""


@dataclass(frozen=True)
class DataSet:
    """A data set as it is declared: tables in an order in which they may be filled, and a policy of few lines.

    Attributes:
      schema: CREATE TABLE statements.
      policy: the contract behind `_HEAD`, whose lines and ranges are counted as the custodian's.
      owners: by table, conditions on `?` that name the rows which go with a person of `person`.
      person: the table whose people may be removed, and its key.
    """

    name: str
    schema: str
    policy: str
    owners: dict[str, str]
    person: tuple[str, str]

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self.owners)

    @property
    def policy_text(self) -> str:
        return _HEAD + self.policy


HOSPITAL = DataSet(
    "hospital",
    """
    CREATE TABLE patient (patient_id bigint PRIMARY KEY, age integer NOT NULL);
    CREATE TABLE visit (
        visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patient, ward varchar NOT NULL,
        cost double NOT NULL
    );
    """,
    f"""
[privacy_units]
patient = "patient_id"
[tables.patient.columns]
age = {{ range = [0, 99] }}
[tables.visit.columns]
ward = {{ domain = [{", ".join(f'"{ward}"' for ward in _WARDS)}] }}
cost = {{ range = [0, 20000] }}
""",
    {"patient": "patient_id = ?", "visit": "patient_id = ?"},
    ("patient", "patient_id"),
)

SHOP = DataSet(
    "shop",
    """
    CREATE TABLE customer (customer_id bigint PRIMARY KEY, segment varchar NOT NULL, nation integer NOT NULL);
    CREATE TABLE supplier (supplier_id bigint PRIMARY KEY, nation integer NOT NULL);
    CREATE TABLE orders (
        order_id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer,
        supplier_id bigint NOT NULL, price double NOT NULL
    );
    """,
    f"""
[privacy_units]
customer = "customer_id"
supplier = "supplier_id"
[[foreign_keys]]
table = "orders"
columns = ["supplier_id"]
references = "supplier"
key = ["supplier_id"]
owning = false
[tables.customer.columns]
segment = {{ domain = [{", ".join(f'"{segment}"' for segment in _SEGMENTS)}] }}
[tables.supplier]
[tables.orders.columns]
price = {{ range = [0, 10000] }}
""",
    {"customer": "FALSE", "supplier": "supplier_id = ?", "orders": "FALSE"},
    ("supplier", "supplier_id"),
)

GRAPH = DataSet(
    "graph",
    """
    CREATE TABLE person (person_id bigint PRIMARY KEY);
    CREATE TABLE knows (
        src bigint NOT NULL REFERENCES person, dst bigint NOT NULL REFERENCES person, PRIMARY KEY (src, dst),
        CHECK (src < dst)
    );
    """,
    """
[privacy_units]
person = "person_id"
[tables.person]
[tables.knows]
""",
    {"person": "person_id = ?", "knows": "? IN (src, dst)"},
    ("person", "person_id"),
)

DATA_SETS = {data.name: data for data in (HOSPITAL, SHOP, GRAPH)}


def write(data: DataSet, folder: Path, people: int, without: int | None = None) -> Path:
    """Write `folder/NAME.duckdb`, and each table beside it as CSV.

    Args:
      people: patients, customers or persons.
      without: the key of someone of `data.person` who goes, with all rows that are theirs.
    Returns: the DuckDB file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{data.name}.duckdb"
    file.unlink(missing_ok=True)
    made = {"hospital": _hospital, "shop": _shop, "graph": _graph}[data.name](people, np.random.default_rng(_SEED))
    with duckdb.connect(file) as connection:
        connection.execute(f"CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE}; {data.schema}")
        for table, owned in data.owners.items():
            connection.register("made", made[table])
            kept = f"WHERE NOT ({owned.replace('?', str(without))})" if without is not None else ""
            connection.execute(f"INSERT INTO {table} SELECT * FROM made {kept}")
            connection.unregister("made")
            connection.execute(f"COPY {table} TO '{folder / table}.csv' (HEADER)")
    return file


def exact(file: Path, sql: str) -> list[tuple[object, ...]]:
    """What the rows say."""
    with duckdb.connect(file, read_only=True) as connection:
        connection.execute(f"USE {NAMESPACE}")
        return connection.execute(sql).fetchall()


def _hospital(people: int, rng: np.random.Generator) -> dict[str, pa.Table]:
    """Few patients have most visits, four in five of them on one ward."""
    chances = np.arange(1, 202) ** -1.7
    owner = np.repeat(np.arange(people), rng.choice(201, size=people, p=chances / chances.sum()))
    home = rng.integers(0, len(_WARDS), size=people)
    ward = np.where(rng.random(len(owner)) < 0.8, home[owner], rng.integers(0, len(_WARDS), size=len(owner)))
    cost = np.exp(6 + 0.5 * rng.normal(size=people)[owner] + rng.normal(size=len(owner)))
    age = np.clip(rng.normal(52, 22, size=people).round(), 0, 99).astype(np.int64)
    return {
        "patient": pa.table({"patient_id": np.arange(people), "age": age}),
        "visit": pa.table(
            {
                "visit_id": np.arange(len(owner)),
                "patient_id": owner,
                "ward": np.array(_WARDS)[ward],
                "cost": np.minimum(cost, 20_000).round(2),
            }
        ),
    }


def _shop(people: int, rng: np.random.Generator) -> dict[str, pa.Table]:
    """Customers order geometrically often; a tenth as many suppliers, of whom some sell much."""
    suppliers = people // 10
    customer = np.repeat(np.arange(people), rng.geometric(0.15, size=people))
    shares = rng.pareto(1.5, size=suppliers) + 1
    supplier = rng.choice(suppliers, size=len(customer), p=shares / shares.sum())
    return {
        "customer": pa.table(
            {
                "customer_id": np.arange(people),
                "segment": np.array(_SEGMENTS)[rng.integers(0, len(_SEGMENTS), size=people)],
                "nation": rng.integers(0, _NATIONS, size=people),
            }
        ),
        "supplier": pa.table(
            {"supplier_id": np.arange(suppliers), "nation": rng.integers(0, _NATIONS, size=suppliers)}
        ),
        "orders": pa.table(
            {
                "order_id": np.arange(len(customer)),
                "customer_id": customer,
                "supplier_id": supplier,
                "price": np.minimum(rng.gamma(2.0, 700.0, size=len(customer)), 10_000).round(2),
            }
        ),
    }


def _graph(people: int, rng: np.random.Generator) -> dict[str, pa.Table]:
    """Circles of acquaintances, some of them shared, and one person with many acquaintances of earlier keys."""
    near = np.concatenate([np.stack([np.arange(people), np.arange(people) + hop], 1) for hop in (1, 2, 3, 4)])
    far = rng.integers(0, people, size=(2 * people, 2))
    known = rng.choice(people - 1, size=people // 10, replace=False)
    ends = np.concatenate([near % people, far, np.stack([known, np.full(len(known), people - 1)], 1)])
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return {
        "person": pa.table({"person_id": np.arange(people)}),
        "knows": pa.table({"src": ends[:, 0], "dst": ends[:, 1]}),
    }
