"""Functions of PostgreSQL that the parser library has no node for, as nodes of its trees."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Age(exp.Expression, exp.Func):
    """`age(later, earlier)`: the years, months and days from one moment to another; PostgreSQL's interval."""

    arg_types: ClassVar = {"this": True, "expression": True}
    _sql_names: ClassVar = ["AGE"]
