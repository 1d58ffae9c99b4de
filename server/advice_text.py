"""What EXPLAIN says about a sample: does it make the answer more accurate, or only faster?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.plan import Plan
from privacy.sampling.advise import Advice, Noisy, advice


def sampling_advice(
    plan: Plan, sampled: Sequence[Noisy], whole: Sequence[Noisy], n_groups: int
) -> Iterator[tuple[str, str]]:
    """Each release's label and advice, from the declared fan-outs alone; nothing where no sample is amplified.

    Args:
      sampled, whole: a measurement per release, of the sample and of all join tuples; `whole` may be empty.
      n_groups: how many public groups there are; the advice is for one of them.
    Cost: nothing but what the measurements cost to make.
    """
    drawn, bound = plan.sampling, plan.tuples_per_unit
    if drawn is None or bound is None or not drawn.amplifies or not whole:
        return
    for release, here, there in zip(plan.releases, sampled, whole, strict=True):
        yield release.label, _sentence(advice(here, there, bound, drawn.rate, n_groups), release.weight_bound)


def _sentence(found: Advice, unit: float) -> str:
    """The advice in the answer's own unit."""
    error = (
        f"the sample is off by {unit * found.unit_sampling:,.4g} times the root of the number of rows at most (95%)"
    )
    if found.break_even == 0:
        return f"{error}; it saves time only, as its noise is no smaller than that of all rows"
    if math.isinf(found.break_even):
        return error
    return f"{error}; it is more accurate below {found.break_even:,.4g} rows, and saves time only above"
