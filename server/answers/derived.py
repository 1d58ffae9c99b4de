"""A derived answer as it is served: its sources, when it is served, and its notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.plan import Plan, Release
from planner.reuse.matching import Lacking
from planner.reuse.outline import REUSABLE
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import MECHANISMS
from server.answers.sums import noise_widths
from server.backends.columns import Domain
from server.note import Note
from server.query import Budget, QueryResponse
from server.question import Question
from server.results.notes import confidence_notes
from server.results.response import response


def usable(noisy: NoisyAnswer) -> bool:
    """Whether other answers can be derived from a released answer.

    Its intervals must be finite and cover the clipped answer. Its noise must be independent in every group, and of a
    public scale.
    """
    finite = np.isfinite(noisy.low) & np.isfinite(noisy.high) & np.isfinite(noisy.noise_scale)
    public = noisy.covers == "truncated_full" and noisy.mechanism in REUSABLE
    return public and bool(np.all(finite & (noisy.noise_scale > 0)))


def holds(plan: Plan, release: Release, noisy: NoisyAnswer) -> bool:
    """Whether no release was clipped below the bound that the request states (`at_most`)."""
    most = plan.adds_at_most(release)
    if most is None:
        return True
    scalar = not one_factor([noisy]) and not clipped_as_vectors([noisy])
    return scalar and bool(np.all(noisy.tau >= float(most)))


def clipped_as_vectors(noisy: Sequence[NoisyAnswer]) -> str | None:
    """Return the mechanism that clipped some of these answers over all groups together; None if there is none."""
    named = (
        name for one in noisy for name, known in MECHANISMS.items() if known.bounds_vector and name in one.mechanism
    )
    return next(named, None)


def one_factor(noisy: Sequence[NoisyAnswer]) -> bool:
    """Whether one of these answers was clipped by one factor for all sums of its question."""
    return any(one.mechanism == "joint_scale" for one in noisy)


def plan_of_parts(plan: Plan, noisy: Sequence[NoisyAnswer]) -> Plan:
    """Return the plan by which an answer combined from parts is shown. The parts decide how it was clipped.

    Args:
      noisy: its releases, with the mechanisms of all parts.
    """
    factor = any("joint_scale" in one.mechanism for one in noisy)
    return replace(
        plan,
        mechanism=clipped_as_vectors(noisy) or plan.mechanism,
        bounds=replace(plan.bounds, rule=None, tuples=None if factor else plan.bounds.tuples),
    )


_FREE = "Nothing was measured or charged: this answer is derived from {which}."
_FRESH = "With reuse = never it is measured again for epsilon {epsilon:g}"
_CUT_APART = (
    "A value is the sum of up to {most} groups. Contributions were clipped in each group by itself, so a person in "
    "all of them may count {most} times tau."
)
_FAR_WIDER = 3.0
"""How many times as wide as a new answer a free one is, if every interface says so."""

MEANS = "{count} releases of the same number were averaged, weighted by their inverse variances."
_LACKS_NULL = "The values lack rows with NULL in a group key of the earlier answer, which it left out."
_LACKS_OTHERS = (
    "The values lack rows with an undeclared value in a group key of the earlier answer, which it left out."
)


@dataclass(frozen=True)
class Width:
    """Half the widest interval of a release, derived and measured, in the answer's unit.

    Attributes:
      label: of the release.
      free: of the derived answer.
      fresh: expected of a new measurement, at the largest threshold of the derived answer.
      most: the same where one person is in all groups of a sum and is not clipped again.
      step: a difference that does not matter: 1 for counts, which are shown as whole numbers.
    """

    label: str
    free: float
    fresh: float
    most: float
    step: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether the width of a new measurement is known beforehand. That of ranks is not."""
        return math.isfinite(self.fresh)

    @property
    def predicted(self) -> str:
        """The expected width of a new measurement in words. Its threshold is not known yet."""
        return f"+-{self.fresh:.4g}" + (f" to +-{self.most:.4g}" if self.most > 1.05 * self.fresh else "")


@dataclass(frozen=True)
class DerivedAnswer:
    """An answer derived from cached ones.

    Attributes:
      domain: the question's groups.
      noisy: one per release of its plan.
      charges: numbers of the charges under which the analyst has paid for its sources.
      widths: per release.
      most_groups: the most cached groups in one sum.
      combined: the most releases of one number that were averaged.
      lacking: the rows that it lacks.
      paid: an epsilon spent on each of its parts, or on a less precise one, with all rows.
    """

    domain: Domain
    noisy: tuple[NoisyAnswer, ...]
    charges: tuple[int, ...]
    widths: tuple[Width, ...]
    most_groups: int
    combined: int
    lacking: Lacking
    paid: float

    def serves(self, epsilon: float, *, as_accurate: bool) -> bool:
        """Whether this answer is served instead of a new one: if complete, and as precise as a new one or paid for.

        A request with no more epsilon than was paid for its sources gets it. A request with more epsilon wants more
        precision.

        Args:
          as_accurate: does the request ask for a precision?
        """
        accurate = all(width.is_known and width.free <= width.fresh + width.step for width in self.widths)
        return self.is_complete and (accurate or (not as_accurate and epsilon <= self.paid))

    @property
    def is_complete(self) -> bool:
        """Whether the cached answers provably count every row that the question counts."""
        return not (self.lacking.null or self.lacking.others)

    @property
    def which(self) -> str:
        """The charges of the cached answers that it is derived from, in words for a sentence."""
        numbers = list(map(str, self.charges))
        if len(numbers) == 1:
            return f"your answer of charge {numbers[0]}"
        return f"your answers of charges {', '.join(numbers[:-1])} and {numbers[-1]}"

    def response(self, question: Question, budget: Budget, request_id: str) -> QueryResponse:
        """Return the answer as the client receives it, free of charge."""
        plan = question.plan
        made = response(
            replace(plan_of_parts(plan, self.noisy), notes=(*self.notes(), self._offered(plan.epsilon), *plan.notes)),
            self.domain,
            self.noisy,
            budget,
            request_id,
        )
        notes = (*made.notes, *confidence_notes(made.confidence))
        return replace(made, notes=notes, epsilon=0.0, delta=0.0, cached=True, derived_from=self.charges)

    def _offered(self, epsilon: float) -> str:
        known = [one for one in self.widths if one.is_known]
        widths = "; ".join(f"{one.label}: {one.predicted} instead of +-{one.free:.4g}" for one in known)
        said = _FRESH.format(epsilon=epsilon) + (f", with about {widths}." if widths else ".")
        return Note(said, "wide") if any(one.free > _FAR_WIDER * one.fresh for one in known) else said

    def passed_over(self) -> str:
        """Return the note of a new answer that was measured although this one is free."""
        known = [one for one in self.widths if one.is_known]
        widths = "; ".join(f"{one.label}: +-{one.free:.4g} instead of about {one.predicted}" for one in known)
        why = "it may lack rows"
        if self.is_complete:
            why = f"it is less precise ({widths})" if widths else "less epsilon was paid for it"
        return f"An answer derived from {self.which} is free with reuse = only, but {why}."

    def notes(self) -> Iterator[str]:
        """Yield its notes: the sources, how many groups are added up, and the rows that it lacks."""
        yield _FREE.format(which=self.which)
        if self.most_groups > 1:
            yield _CUT_APART.format(most=self.most_groups)
        if self.combined > 1:
            yield MEANS.format(count=self.combined)
        if self.lacking.null:
            yield _LACKS_NULL
        if self.lacking.others:
            yield _LACKS_OTHERS


def half_width(noisy: NoisyAnswer) -> float:
    """Return half of the widest interval for noise alone, in normalised weight."""
    return float(np.max(noise_widths(noisy), initial=0.0))


def reuse_explained(derived: DerivedAnswer | None, question: Question, *, serves: bool) -> str | None:
    """Explain the derived answer and a new measurement in sentences; None without a derived answer."""
    if derived is None:
        return None
    plan = question.plan
    free = "; ".join(f"{width.label}: +-{width.free:.4g}" for width in derived.widths)
    fresh = "; ".join(f"{width.label}: {width.predicted}" for width in derived.widths)
    served = "unless reuse = never" if serves else "with reuse = only"
    said = (
        f"Free: derived from {derived.which}, {free}. Measured for epsilon {plan.epsilon:g}: {fresh}, or wider with"
    )
    said += f" a larger clipping threshold. The free answer is served {served}."
    return " ".join([said, *list(derived.notes())[1:]])
