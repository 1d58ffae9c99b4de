"""The texts: queries/qNN.sql as published, with the validation parameters; queries/qNN.adapted.sql where needed.

Spelling is PostgreSQL's: the limits of Q2, Q3, Q10, Q18 and Q21 are LIMIT, and Q15's view is a CTE. Each is asked as
one question; of statements of several, TPC-DS has more.
"""

from __future__ import annotations

from pathlib import Path

from planner.policy.policy import Policy
from tests.golden.benchmark import Benchmark
from tests.support.tpch_schema import tpch_schema

TPCH = Benchmark(Path(__file__).parent, range(1, 23), tpch_schema, composed=False)

NUMBERS = TPCH.numbers
published, adapted, outcome, working = TPCH.published, TPCH.adapted, TPCH.outcome, TPCH.working


def policy() -> Policy:
    """policy.toml."""
    return TPCH.policy
