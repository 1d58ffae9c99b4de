from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "policy.ledger.json"


@pytest.fixture
def ledger(path: Path, marker: Path) -> Iterator[Ledger]:
    """A ledger in SQLite in which ada may spend epsilon 1 and delta 1e-6."""
    made = create_ledger(path, marker)
    made.add_analyst("ada", key_hash("ng_ada"), 1.0, 1e-6)
    yield made
    made.close()
