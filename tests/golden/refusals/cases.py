"""All refusals, over TPC-H's catalog and policy."""

from __future__ import annotations

from tests.golden.refusals.aggregates import AGGREGATES, POLICY
from tests.golden.refusals.expressions import NOT_A_FUNCTION_OF_THE_TUPLE, NOT_TOTAL
from tests.golden.refusals.monotone import NOT_MONOTONE
from tests.golden.refusals.names import NAMES_AND_SHAPE

REFUSALS = (*NOT_MONOTONE, *NOT_A_FUNCTION_OF_THE_TUPLE, *NOT_TOTAL, *AGGREGATES, *POLICY, *NAMES_AND_SHAPE)
