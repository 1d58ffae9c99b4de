"""The names of result types, of which `planner/sql/result_types.py` says the rest: these alone need no parser."""

from __future__ import annotations

from typing import Literal

ResultType = Literal["int8", "float4", "float8", "numeric", "text", "bool", "date", "timestamp", "timestamptz"]

NUMBERS: frozenset[ResultType] = frozenset({"int8", "float4", "float8", "numeric"})
"""What may stand in arithmetic over released values."""
