"""The recipes of docs/notebooks.md that take libraries of their own, cell by cell as a notebook runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.program import PROGRAMS, PYTHON, needs, of_python
from tests.e2e.test_psycopg import Psycopg
from tests.support.wire_proxy import WireProxy

PAGE = (Path(__file__).parents[4] / "docs" / "notebooks.md").read_text()
NATIONS = 25
WITH_INTERVALS = ["n_name", "customers", "customers_lo", "customers_hi", "low_precision", "clipped"]

RECIPES = {
    "pandas by SQLAlchemy": ("sqlalchemy", "frame", NATIONS, [*WITH_INTERVALS, "half_width"]),
    "polars by ADBC": ("adbc_driver_postgresql", "frame", NATIONS, WITH_INTERVALS),
    "Jupyter: `%%sql`": ("sql", "largest", 5, WITH_INTERVALS),
}
"""By heading: a module that it takes, the name that it ends with, and that frame's rows and columns."""


def cells(heading: str) -> list[str]:
    """The blocks of code of a section."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^```(?:python|ipython)\n(.*?)^```$", section, re.DOTALL)


def run(heading: str, name: str, place: dict[str, str]) -> Any:
    """What a name is after all cells have run."""
    done = subprocess.run(
        [str(PYTHON / "bin" / "python"), str(PROGRAMS / "notebook.py"), name],
        input=json.dumps(cells(heading)),
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("{"))  # jupysql says that it has closed
    return json.loads(said)


@needs(of_python("IPython"), "ipython of PyPI")
@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_runs_as_it_is_written_and_costs_what_it_says(heading: str, wire: WireProxy) -> None:
    module, name, rows, columns = RECIPES[heading]
    if not of_python(module):
        pytest.skip(f"not installed (make clients): {module}")
    client = Psycopg(wire, 2.0)
    tls = f"sslmode=verify-full&sslrootcert={wire.authority.resolve()}"
    address = f"{client.name}:{client.key}@localhost:{wire.port}/demo?{tls}"
    frame = run(
        heading,
        name,
        {"NOISEGATE_URI": f"postgresql+psycopg://{address}", "NOISEGATE_DSN": f"postgresql://{address}"},
    )
    assert frame["columns"] == columns
    assert len(frame["rows"]) == rows
    assert all(row["customers_lo"] <= row["customers"] <= row["customers_hi"] for row in frame["rows"])
    assert client.left() == 1.5


def test_every_recipe_has_cells() -> None:
    assert all(cells(heading) for heading in RECIPES)
