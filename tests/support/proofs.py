"""What the planner proves of every part of an expression, recorded while it is bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Measured, Scalar
from planner.sql.trees import copied


@dataclass(frozen=True)
class Proof:
    """SQL of a double, and what is said of it."""

    sql: exp.Expr
    bounds: Bounds

    def is_broken_by(self, value: object) -> bool:
        """Is this no value that the expression may have?"""
        if value is None:
            return False
        known = self.bounds
        if not isinstance(value, float) or not known.lo <= value <= known.hi:
            return True
        if value == 0:
            return known.divides
        return abs(value) < known.least or (known.whole and math.floor(value) != value)


@contextmanager
def recorded() -> Iterator[list[Proof]]:
    """The proofs of all that is bound inside, innermost first."""
    proofs: list[Proof] = []
    original = Scalar.measured

    def measured(self: Scalar) -> Measured:
        sql, bounds = original(self)
        if bounds is not None:
            proofs.append(Proof(copied(sql), bounds))
        return sql, bounds

    setattr(Scalar, "measured", measured)  # noqa: B010 a method of a frozen class
    try:
        yield proofs
    finally:
        setattr(Scalar, "measured", original)  # noqa: B010


def broken(proofs: Sequence[Proof], rows: Sequence[Sequence[object]]) -> list[str]:
    """The proofs that some row breaks, each with the value that does."""
    return [
        f"{proof.sql.sql('postgres')} = {row[place]!r}, not {proof.bounds}"
        for row in rows
        for place, proof in enumerate(proofs)
        if proof.is_broken_by(row[place])
    ]
