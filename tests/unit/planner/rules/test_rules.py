"""Every rule's doctest, SQL before and after, and that every rule has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import planner.rules
import planner.sql.sql_nodes

MODULES = [f"planner.rules.{module.name}" for module in pkgutil.iter_modules(planner.rules.__path__)]


def test_the_examples_of_every_rule_hold() -> None:
    for name in (*MODULES, "planner.sql.sql_nodes"):
        result = doctest.testmod(importlib.import_module(name))
        assert result.attempted > 0
        assert result.failed == 0
