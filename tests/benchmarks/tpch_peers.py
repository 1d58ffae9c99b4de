"""Five questions of TPC-H to Noisegate and to OpenDP over polars: with bounds, and with bounds by quantile.

They are those for which the authors of DuckDB's extension `privacy` publish errors (`comparison/published.toml`).
Everybody protects a customer with all of its rows at epsilon 1, and suppliers are public, as in what they publish.
Needs the network once, to install OpenDP in an environment of its own. QUICK=1 installs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import duckdb

from tests.benchmarks.comparison.data import DataSet
from tests.benchmarks.comparison.ours import Noisegate, one_worker
from tests.benchmarks.comparison.peers import PEERS, NotInstalled, Peer, settings
from tests.benchmarks.comparison.verdicts import Answered, Said, cell_error, cells
from tests.benchmarks.rows import Row
from tests.golden.tpch.queries import published
from tests.support.tpch_duckdb import NAMESPACE, load_tpch

_FOLDER = Path(".noisegate") / "benchmarks" / "tpch_peers"
_EPSILON = 1.0
_SCALE, _QUICK_SCALE = 0.1, 0.01
_OWN_DRAWS, _DRAWS, _QUICK_DRAWS = 21, 3, 1
_QUICK_NUMBER = 6
_LIMIT_S = 900.0
(_OPENDP,) = (peer for peer in PEERS if peer.name == "OpenDP")
OPENDP = Peer(_OPENDP.name, _OPENDP.folder, _OPENDP.requirements, "../tpch/opendp_polars.py")
BOUNDS = ("practitioner", "by hand", "by quantile")
"""Who chooses OpenDP's bounds, as its program calls it."""

_POLICY = """
[privacy_units]
customer = "c_custkey"
[tables]
nation.public = true
region.public = true
part.public = true
supplier.public = true
partsupp.public = true
customer = {}
orders = {}
knows = {}
[tables.lineitem.columns]
l_quantity = { range = [0, 50] }
l_extendedprice = { range = [0, 105000] }
l_discount = { range = [0, 0.1] }
l_tax = { range = [0, 0.08] }
l_returnflag = { domain = ["A", "N", "R"] }
l_linestatus = { domain = ["F", "O"] }
"""
_TPCH = DataSet("tpch", "", _POLICY, {}, ("customer", "c_custkey"))
_NET = "l_extendedprice * (1 - l_discount)"


@dataclass(frozen=True)
class _Question:
    """A query of TPC-H as published, and what its answer is computed from.

    Attributes:
      number: of the query.
      sums: by name, what is summed.
      group: the text of a group's key; none for one value.
      keys: how many columns of the answer are keys.
    """

    number: int
    sums: dict[str, str]
    group: str = ""
    keys: int = 0

    @property
    def name(self) -> str:
        return f"Q{self.number}"

    def write(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Its joined rows, and a customer's sums in each group, as CSV."""
        text = published(self.number)
        parts = re.search(r"\bfrom\b(.*?)\bwhere\b(.*?)(?:group by|;|\Z)", text, re.DOTALL)
        assert parts is not None
        tables, condition = parts.groups()
        tables += "" if "orders" in tables else ", orders"
        key, kept = (f'{self.group} AS "group",', '"group",') if self.group else ("", "")
        columns = ", ".join(f"({sql})::double AS {name}" for name, sql in self.sums.items())
        lines = (
            f"SELECT o_custkey AS person, {key} {columns} FROM {tables} "
            f"WHERE l_orderkey = o_orderkey AND ({condition})"
        )
        sums = ", ".join(f"sum({name}) AS {name}" for name in self.sums)
        people = f"SELECT person, {kept} {sums} FROM ({lines}) GROUP BY ALL"
        for name, sql in (("lines", lines), ("people", people)):
            connection.execute(f"COPY ({sql}) TO '{_FOLDER / self.name}.{name}.csv' (HEADER)")


QUESTIONS = (
    _Question(
        1,
        {
            "qty": "l_quantity",
            "price": "l_extendedprice",
            "net": _NET,
            "charge": f"{_NET} * (1 + l_tax)",
            "discount": "l_discount",
            "n": "1",
        },
        "l_returnflag || ' ' || l_linestatus",
        2,
    ),
    _Question(5, {"revenue": _NET}, "n_name", 1),
    _Question(6, {"revenue": "l_extendedprice * l_discount"}),
    _Question(14, {"promotion": f"CASE WHEN p_type LIKE 'PROMO%' THEN {_NET} ELSE 0 END", "revenue": _NET}),
    _Question(19, {"revenue": _NET}),
)


def run(quick: bool) -> list[Row]:
    """Both systems' errors and seconds; a quick run asks Q6 of a small TPC-H."""
    scale = _QUICK_SCALE if quick else _SCALE
    file = _FOLDER / f"tpch-{scale:g}.duckdb"
    if not file.exists():
        load_tpch(file, scale)
    questions = [question for question in QUESTIONS if not quick or question.number == _QUICK_NUMBER]
    truths = {}
    with duckdb.connect(file, read_only=True) as connection:
        connection.execute(f"USE {NAMESPACE}")
        for question in questions:
            question.write(connection)
            truths[question.name] = cells(connection.execute(published(question.number)).fetchall(), question.keys)
        ((customers,),) = connection.execute("SELECT count(*) FROM customer").fetchall()
    rows = [Row("TPC-H", "scale", scale, "1"), Row("TPC-H", "customers", customers, "1")]
    said = _opendp(truths, quick)
    with one_worker() as workers:
        for question in questions:
            truth = truths[question.name]
            draws = _QUICK_DRAWS if quick else _OWN_DRAWS
            proxy = Noisegate(_TPCH, file, workers)
            ours = proxy.answered(published(question.number), _EPSILON, draws, partial(cells, keys=question.keys))
            rows += _rows(question.name, "Noisegate", ours, truth)
            for how in BOUNDS:
                rows += _of_opendp(question.name, how, said, truth)
    return rows


def _opendp(truths: dict[str, dict[str, float]], quick: bool) -> Said:
    if quick and not OPENDP.is_installed:
        return Said({}, {}, "not installed, and a quick run installs nothing")
    try:
        OPENDP.install()
    except NotInstalled as error:
        return Said({}, {}, str(error))
    asked = {f"{name}, {how}": truth for name, truth in truths.items() for how in BOUNDS}
    return OPENDP.asked(_FOLDER, settings(_EPSILON, _QUICK_DRAWS if quick else _DRAWS, asked, asked), _LIMIT_S)


def _of_opendp(name: str, how: str, said: Said, truth: dict[str, float]) -> Iterator[Row]:
    asked = f"{name}, {how}"
    if asked in said.answered:
        yield from _rows(name, f"OpenDP {how}", said.answered[asked][0], truth)
    elif asked in said.refused:
        yield Row(name, f"OpenDP {how} refuses: {said.refused[asked]}", 1, "refused")
    else:
        yield Row(name, f"OpenDP {how} fails: {said.failed or 'no answer'}", 1, "failed")


def _rows(name: str, who: str, answered: Answered, truth: dict[str, float]) -> Iterator[Row]:
    errors = [cell_error(answer, truth) for answer in answered.answers]
    yield Row(name, f"{who}: median error of a cell, median of {len(errors)}", 100 * median(errors), "%")
    yield Row(name, f"{who}: one release, median", median(answered.seconds), "s")
    if answered.bounds:
        yield Row(name, f"{who}: bounds stated: {answered.bounds}", answered.bounds.count(",") + 1, "1")
