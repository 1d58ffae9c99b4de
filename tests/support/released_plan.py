"""Plans and releases by hand, to test what follows from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from planner.plan import GroupKey, Owner, Plan, Release, UnitBounds
from planner.released_expression import Display, Output, ReleasedExpression, SortKey
from privacy.noisy_answer import Covers, NoisyAnswer


def answer_plan(
    *expressions: ReleasedExpression,
    types: Sequence[str] = (),
    n_releases: int = 1,
    keys: Sequence[str] = (),
    weight_bound: float = 1.0,
    having: ReleasedExpression | None = None,
    order: tuple[SortKey, ...] = (),
    limit: int | None = None,
    offset: int = 0,
) -> Plan:
    """A plan whose answer is these expressions; only what post-processing reads of it means anything."""
    kinds = list(types) or ["float8"] * len(expressions)
    weight = exp.Literal.number(1)
    return Plan(
        source=exp.Select(),
        owners=(Owner("person", weight),),
        releases=tuple(Release(f"r{index}", weight, weight_bound, 1.0, False) for index in range(n_releases)),
        group_keys=tuple(GroupKey(weight, kind) for kind in keys),  # type: ignore[arg-type]
        domains=(),
        display=Display(
            tuple(
                Output(f"c{index}", kind, expression)  # type: ignore[arg-type]
                for index, (kind, expression) in enumerate(zip(kinds, expressions, strict=True))
            ),
            having,
            order,
            limit,
            offset,
        ),
        bounds=UnitBounds(groups=1),
        epsilon=1.0,
        delta=0.0,
        mechanism="gem",
        reason="",
        fingerprint="",
        policy_hash="",
        relied_on="",
    )


def noisy_answer(
    values: Sequence[float],
    *,
    reach: float = 0.0,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    signal: Sequence[float] | None = None,
    covers: Covers = "truncated_full",
    mechanism: str = "gem",
) -> NoisyAnswer:
    """A release of these values, within `reach` or between `low` and `high`, at the threshold 2."""
    numbers = np.array(values, np.float64)
    return NoisyAnswer(
        values=numbers,
        tau=np.full_like(numbers, 2.0),
        noise_scale=np.full_like(numbers, 1.0),
        low=numbers - reach if low is None else np.array(low, np.float64),
        high=numbers + reach if high is None else np.array(high, np.float64),
        confidence=0.95,
        covers=covers,
        mechanism=mechanism,
        epsilon=1.0,
        signal=np.full_like(numbers, np.inf) if signal is None else np.array(signal, np.float64),
    )
