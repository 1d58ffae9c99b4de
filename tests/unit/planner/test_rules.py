"""Every rule's doctest, SQL before and after, and that every rule has one."""

from __future__ import annotations

import doctest
import importlib

RULES = (
    "attach_late",
    "compact_tuples",
    "guard_weight",
    "join_tables",
    "contributions",
    "read_nan_as_null",
)
MODULES = [f"planner.rewriting.{name}" for name in RULES]


def test_the_examples_of_every_rule_hold() -> None:
    for name in (*MODULES, "planner.sql.trees"):
        result = doctest.testmod(importlib.import_module(name))
        assert result.attempted > 0
        assert result.failed == 0
