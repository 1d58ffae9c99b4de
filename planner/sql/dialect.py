"""The databases that statements are written for."""

from __future__ import annotations

from typing import Literal

Dialect = Literal["postgres", "duckdb"]
