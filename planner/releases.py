"""Aggregates to releases: weights, their bounds, and how the outputs add them up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from planner.bound_query import BoundOutput, BoundQuery
from planner.measure import Measure
from planner.plan import Output, Release
from planner.policy import Policy
from planner.rules.guard_weight import guard_weight, whole_weight, whole_weight_if_known


@dataclass(frozen=True)
class _Weight:
    """One non-negative quantity to release."""

    label: str
    sql: exp.Cast
    bound: float
    whole: bool = False


def releases(query: BoundQuery, policy: Policy, epsilon: float) -> tuple[tuple[Release, ...], dict[int, Output]]:
    """Weights of every aggregate, the budget shared equally; equal ones are released once.

    Returns: the releases, and the answer's aggregate columns by their index in the select list.
    Raises: SensitivityUnbounded, UnsupportedSQL.
    """
    measure = Measure(query, policy)
    weights: list[_Weight] = []
    outputs: dict[int, Output] = {}
    for index, output in enumerate(query.outputs):
        if output.aggregate is None:
            continue
        terms = []
        for weight, sign in _weights(output, measure):
            known = [i for i, other in enumerate(weights) if (other.sql, other.bound) == (weight.sql, weight.bound)]
            if not known:
                weights.append(weight)
            terms.append((known[0] if known else len(weights) - 1, sign))
        kind = "int8" if output.aggregate == "count" else "float8"
        outputs[index] = Output(output.name, "int8" if kind == "int8" else "float8", None, tuple(terms))
    share = _share(epsilon, len(weights))
    return tuple(Release(weight.label, weight.sql, weight.bound, share, weight.whole) for weight in weights), outputs


def _share(epsilon: float, count: int) -> float:
    """epsilon / count, rounded so that the decimals of `count` shares never add up to more than epsilon's.

    >>> [_share(1.0, 1), _share(1.0, 4), _share(5.0, 3)]
    [1.0, 0.25, 1.6666666666666665]
    """
    share = epsilon / count
    while Fraction(repr(share)) * count > Fraction(repr(epsilon)):
        share = math.nextafter(share, 0.0)
    return share


def _weights(output: BoundOutput, measure: Measure) -> list[tuple[_Weight, int]]:
    if output.aggregate == "count":
        argument = output.argument
        weight = whole_weight_if_known(argument) if argument else whole_weight()
        return [(_Weight(output.label, weight, 1.0, whole=True), 1)]
    assert output.argument is not None, "SUM has an argument"
    sql, bounds = measure.bounded(output.argument)
    if bounds.lo >= 0:
        return [(_Weight(output.label, guard_weight(sql, bounds.hi or 1.0), bounds.hi or 1.0), 1)]
    minus = exp.Neg(this=sql if isinstance(sql, (exp.Cast, exp.Case)) else exp.Paren(this=sql))
    negative = _Weight(f"{output.label}, negative part", guard_weight(minus, -bounds.lo), -bounds.lo)
    if bounds.hi <= 0:
        return [(negative, -1)]
    positive = _Weight(f"{output.label}, positive part", guard_weight(sql, bounds.hi), bounds.hi)
    return [(positive, 1), (negative, -1)]
