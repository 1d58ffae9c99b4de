"""The texts: queries/qNN.sql as published, with the default parameters; queries/qNN.adapted.sql where needed.

Spelling is PostgreSQL's. Of queries that the specification has in two parts (Q14, Q23, Q24, Q39) it is the first.
"""

from __future__ import annotations

from pathlib import Path

from tests.golden.benchmark import Benchmark
from tests.support.tpcds_schema import tpcds_schema

TPCDS = Benchmark(Path(__file__).parent, range(1, 100), tpcds_schema)
