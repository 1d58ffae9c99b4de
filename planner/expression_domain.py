"""The values of a group key that follow from the expression itself, whatever the rows hold."""

from __future__ import annotations

from itertools import islice

from sqlglot import exp

from planner.calendar_steps import steps
from planner.errors import PlannerError
from planner.limits import MAX_GROUPS
from planner.moments import ALWAYS
from planner.scalar import Scalar
from planner.sql_types import Family

Values = tuple[str | int | bool, ...]

_UNITS = frozenset({"day", "week", "month", "quarter", "year"})


def expression_domain(node: exp.Expr, scalar: Scalar) -> Values | None:
    """The finite domain of an expression; None where nothing public bounds it.

    A condition is true or false; a CASE of literals is one of them; a whole number lies within its interval;
    date_trunc steps through the declared range of its dates. Values beyond (those of columns that leave
    their declared range) belong to no group.
    """
    labels = _labels(node)
    if labels is not None:
        return labels
    if scalar.type is None:
        return None
    if scalar.type.family is Family.BOOL:
        return (False, True)
    if scalar.type.family is Family.INTEGER:
        return None if _is_any_year(node, scalar) else _whole_numbers(scalar)
    if isinstance(node, exp.TimestampTrunc):
        return _moments(node, scalar)
    return None


def _labels(node: exp.Expr) -> Values | None:
    """The literals of a CASE, in the order in which it names them."""
    if not isinstance(node, exp.Case):
        return None
    results = [branch.args["true"].unnest() for branch in node.args["ifs"]]
    default = node.args.get("default")
    if default is not None:
        results.append(default.unnest())
    known = [result for result in results if not isinstance(result, exp.Null)]
    texts = [result.name for result in known if isinstance(result, exp.Literal) and result.is_string]
    numbers = [int(result.name) for result in known if _is_whole(result)]
    if known and len(texts) == len(known):
        return tuple(dict.fromkeys(texts))
    return tuple(dict.fromkeys(numbers)) if known and len(numbers) == len(known) else None


def _is_whole(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 19


def _is_any_year(node: exp.Expr, scalar: Scalar) -> bool:
    """The year of dates without a declared range: nine thousand groups would be noise."""
    return isinstance(node, exp.Extract) and scalar.bounds is not None and scalar.bounds.hi == ALWAYS[1].year


def _whole_numbers(scalar: Scalar) -> Values | None:
    try:
        bounds = scalar.bounds
    except PlannerError:  # a range that it would need is not declared
        return None
    if bounds is None or not bounds.integral or bounds.hi - bounds.lo >= MAX_GROUPS:
        return None
    return tuple(range(int(bounds.lo), int(bounds.hi) + 1))


def _moments(node: exp.TimestampTrunc, scalar: Scalar) -> Values | None:
    unit = node.args["unit"].name.lower()
    if unit not in _UNITS or scalar.span is None or scalar.span[1] == ALWAYS[1]:
        return None
    found = list(islice(steps(*scalar.span, unit), MAX_GROUPS + 1))
    if len(found) > MAX_GROUPS:
        return None
    return tuple(f"{day.isoformat()} 00:00:00" for day in found)
