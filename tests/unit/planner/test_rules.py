"""Every rule's doctest, SQL before and after, and that every rule has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import planner.rules
import planner.sql_nodes

MODULES = [f"planner.rules.{module.name}" for module in pkgutil.iter_modules(planner.rules.__path__)]


@pytest.mark.parametrize("name", [*MODULES, "planner.sql_nodes"])
def test_doctests(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
