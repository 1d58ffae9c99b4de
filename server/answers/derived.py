"""An answer that follows from kept ones, as it is served: what it rests on, when it is served, and its notes."""

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
from server.query import Budget, QueryResponse
from server.question import Question
from server.results.notes import confidence_notes
from server.results.response import response


def usable(noisy: NoisyAnswer) -> bool:
    """Has it intervals with two ends around the truncated answer, and independent noise of a public scale in every
    group?
    """
    finite = np.isfinite(noisy.low) & np.isfinite(noisy.high) & np.isfinite(noisy.noise_scale)
    public = noisy.covers == "truncated_full" and noisy.mechanism in REUSABLE
    return public and bool(np.all(finite & (noisy.noise_scale > 0)))


def holds(plan: Plan, release: Release, noisy: NoisyAnswer) -> bool:
    """Where whoever asks says what nobody exceeds: was nothing cut below that, so that the answer may say so?"""
    most = plan.adds_at_most(release)
    if most is None:
        return True
    scalar = not one_factor([noisy]) and not cut_as_vectors([noisy])
    return scalar and bool(np.all(noisy.tau >= float(most)))


def cut_as_vectors(noisy: Sequence[NoisyAnswer]) -> str | None:
    """The mechanism by which any of them was cut in all groups together, rather than in each; None: by none."""
    named = (
        name for one in noisy for name, known in MECHANISMS.items() if known.bounds_vector and name in one.mechanism
    )
    return next(named, None)


def one_factor(noisy: Sequence[NoisyAnswer]) -> bool:
    """Was any of them cut by one factor for all sums of its own question?"""
    return any(one.mechanism == "joint_scale" for one in noisy)


def plan_of_parts(plan: Plan, noisy: Sequence[NoisyAnswer]) -> Plan:
    """A question's plan as its answer is shown that is put together from parts: they say how it was cut.

    Args:
      plan: of the question.
      noisy: its releases, whose mechanisms are those of all parts.
    """
    factor = any("joint_scale" in one.mechanism for one in noisy)
    return replace(
        plan,
        mechanism=cut_as_vectors(noisy) or plan.mechanism,
        bounds=replace(plan.bounds, rule=None, tuples=None if factor else plan.bounds.tuples),
    )


_FREE = "Nothing was measured or charged: this follows from {which}."
_FRESH = "With reuse = never it is measured anew, for epsilon {epsilon:g}"
_CUT_APART = (
    "A value is the sum of up to {most} of its groups. In each of them what a person adds was cut at tau by itself, "
    "so that one who is in all of them may count {most} times tau; a question of its own would have cut it once."
)
MEANS = (
    "{count} releases of the same number were combined, weighted by their inverse variances: at equal tau they were "
    "cut alike."
)
_LACKS_NULL = (
    "Rows whose value of a group key is NULL were left out there, as was said with it, and are not in these values."
)
_LACKS_OTHERS = (
    "Rows whose value of a group key is not among those that the policy declares were left out there, as was said "
    "with it, and are not in these values."
)


@dataclass(frozen=True)
class Width:
    """How wide a release's widest interval is, either way: half of it, in the answer's own unit.

    Attributes:
      label: of the release.
      free: of what follows.
      fresh: to be expected of a release of its own, at the largest threshold of what follows.
      most: the same where one person is in all groups that a value is the sum of, and is not cut anew.
      step: what does not count: of counts one, as they are shown in whole numbers, which a new one's noise is.
    """

    label: str
    free: float
    fresh: float
    most: float
    step: float = 0.0

    @property
    def is_known(self) -> bool:
        """Is it known beforehand how wide a new one is? Of ranks it is not."""
        return math.isfinite(self.fresh)

    @property
    def foreseen(self) -> str:
        """How wide a new one is expected to be, in words: the threshold that it will have is not known."""
        return f"+-{self.fresh:.4g}" + (f" to +-{self.most:.4g}" if self.most > 1.05 * self.fresh else "")


@dataclass(frozen=True)
class DerivedAnswer:
    """An answer that follows from kept ones.

    Attributes:
      domain: the question's groups.
      noisy: one per release of its plan.
      charges: the numbers of the charges under which the analyst has paid for what it rests on.
      widths: per release.
      most_groups: the most kept groups that one value is the sum of.
      combined: the most releases of one number that were combined.
      lacking: which rows it lacks.
      paid: an epsilon that was spent on each part of it, on that part or on a worse one, with all rows.
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
        """Is it served unasked? It is as complete as a new answer, and as accurate or no cheaper.

        Who asks for no more epsilon than was paid for what determines the answer has it, however it is spelled; who
        asks for more wants it more accurate.

        Args:
          epsilon: of the question.
          as_accurate: does the question say how accurate it is to be?
        """
        accurate = all(width.is_known and width.free <= width.fresh + width.step for width in self.widths)
        return self.is_complete and (accurate or (not as_accurate and epsilon <= self.paid))

    @property
    def is_complete(self) -> bool:
        """Did the kept answers provably hold every row that the question counts?"""
        return not (self.lacking.null or self.lacking.others)

    @property
    def which(self) -> str:
        """The answers that it rests on, as a part of a sentence."""
        numbers = list(map(str, self.charges))
        if len(numbers) == 1:
            return f"your answer of charge {numbers[0]}"
        return f"your answers of charges {', '.join(numbers[:-1])} and {numbers[-1]}"

    def response(self, question: Question, budget: Budget, request_id: str) -> QueryResponse:
        """The answer as the client is given it, which costs nothing.

        Args:
          question: that is answered.
          budget: the analyst's, which does not change.
          request_id: as in the request.
        """
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
        widths = "; ".join(f"{one.label} {one.foreseen}, here +-{one.free:.4g}" for one in known)
        return _FRESH.format(epsilon=epsilon) + (f", to about {widths}." if widths else ".")

    def passed_over(self) -> str:
        """What is said of a new answer that was measured though this one would have been free."""
        known = [one for one in self.widths if one.is_known]
        widths = "; ".join(f"{one.label}: +-{one.free:.4g} and not {one.foreseen} or so" for one in known)
        why = "it may lack rows"
        if self.is_complete:
            why = f"it is less accurate ({widths})" if widths else "less epsilon was paid for it"
        return f"An answer that follows from {self.which} would be free with reuse = only; {why}."

    def notes(self) -> Iterator[str]:
        """What is said of it: where it comes from, what it is the sum of, and which rows it lacks."""
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
    """Half of the widest interval for noise alone, in normalised weight."""
    return float(np.max(noise_widths(noisy), initial=0.0))


def reuse_explained(derived: DerivedAnswer | None, question: Question, *, serves: bool) -> str | None:
    """Both ways, as sentences; None where nothing follows.

    Args:
      derived: what follows from the answers of who asks.
      question: that is asked.
      serves: is it served unasked?
    """
    if derived is None:
        return None
    plan = question.plan
    free = "; ".join(f"{width.label}: +-{width.free:.4g}" for width in derived.widths)
    fresh = "; ".join(f"{width.label}: {width.foreseen}" for width in derived.widths)
    served = "is served unless reuse = never" if serves else "is served where reuse = only"
    said = f"free: follows from {derived.which}, {free}. fresh: {fresh} at epsilon {plan.epsilon:g}, or more, as a"
    said += f" larger tau may be chosen. What is free {served}."
    return " ".join([said, *list(derived.notes())[1:]])
