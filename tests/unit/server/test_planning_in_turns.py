"""Planning in turns: statements that are long to plan delay nobody else's by more than a turn."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

from server import planning
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.backends import FailingBackend
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema


def test_a_question_is_planned_in_its_turn_and_a_remembered_one_without(tmp_path: Path) -> None:
    """Two others plan: a new question waits for one of them to end, and a question asked before does not."""
    pool, ledger = cast("WorkerPool", None), cast("Ledger", MemoryLedger({"ada": 1e9}))
    asked = Pipeline(demo_policy(), tpch_schema(), FailingBackend(tmp_path / "reads"), ledger, pool)
    known, new = (QueryRequest("ada", f"SELECT count(*) FROM {table}") for table in ("orders", "customer"))
    asked.find(known)
    first, second = (planning._TURNS.turn(owner, 0.0) for owner in ("bert", "carl"))
    with second:
        with first:
            waiting = threading.Thread(target=asked.find, args=(new,))
            waiting.start()
            asked.find(known)
            waiting.join(0.3)
            assert waiting.is_alive()
        waiting.join(60.0)
        assert not waiting.is_alive()
