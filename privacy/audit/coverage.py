"""How often an interval covers what it names, at most: a claimed confidence above that is refuted."""

from __future__ import annotations

from scipy.stats import beta

from privacy.errors import InvalidParameter


def coverage_upper_bound(hits: int, runs: int, failure_probability: float) -> float:
    """Bound from above the probability that an interval covers.

    Args:
      hits: in how many of the runs it did, independently.
      runs: >= 1.
      failure_probability: in (0, 1).
    Returns: a number that is below the true probability with probability at most `failure_probability`
      (Clopper-Pearson, one-sided).
    Raises: InvalidParameter for counts or a probability out of range.
    Source: Clopper and Pearson (1934).
    """
    if not (0 <= hits <= runs and runs >= 1):
        raise InvalidParameter("an interval covers in some of the runs")
    if not 0 < failure_probability < 1:
        raise InvalidParameter("a failure probability lies between 0 and 1")
    return 1.0 if hits == runs else float(beta.isf(failure_probability, hits + 1, runs - hits))
