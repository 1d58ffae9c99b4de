"""Which thresholds a question starts from: what the analyst's own earlier answers to it say. Reads no private row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from privacy.mechanisms.selection.remembered import WINDOW
from privacy.mechanisms.start_from import Earlier, Expected, can_start, expected_from, start_from
from server.answers.encoding import decoded
from server.ledger.charge import ChargeRecord, KeptAnswer
from server.question import Question, Start, base_of
from server.scheduling.lru_cache import LruCache

_RECENT, _RECENT_BYTES = 1024, 16 << 20

_NOTE = (
    "The contribution bound starts from that of your answer of charge {number}, and all of epsilon goes to the "
    "release: what is cut now is not measured, until a bound is chosen anew. Rows are marked cut by what could be "
    "known when it was chosen, and all of them should the values not be what the answers before let expect."
)


class OwnAnswers(Protocol):
    """What is asked of a ledger."""

    def answers_to(
        self, analyst: str, plan_hash: str, named: str = "", *, limit: int = 1
    ) -> tuple[ChargeRecord, ...]:
        """The analyst's answered charges for a plan, the newest first.

        Args:
          analyst: whose.
          plan_hash: of the plan.
          named: how their answer keys begin; empty for any.
          limit: the most charges.
        """
        ...

    def kept_answer(self, answer_key: str, analyst: str) -> KeptAnswer | None:
        """The answer of a key."""
        ...


@dataclass(frozen=True)
class _Told:
    """What an earlier answer says: of how many groups, and of each release's threshold, where it had one."""

    n_groups: int
    releases: tuple[Earlier | None, ...]


@dataclass(frozen=True)
class Remembering:
    """Questions of an analyst who has asked them before, of another load of the data or with another epsilon.

    What an analyst was told may decide what is measured for that analyst next: it is post-processing, and the release
    is as private at the threshold that it names as at any other (`privacy.mechanisms.start_from`). It may not decide
    what others are told, who have not paid for it. So a question that has a memory has an answer key of its own: it
    names the newest charge that is remembered, which is one analyst's. Nobody else is sold its answer, or learns by
    being sold one that there is a memory: whether a question has an own key depends on what was asked and answered
    before, and on no released value, also where no threshold follows from it. The dataset pays for each such answer.

    Not so where an answer that everybody may buy is kept already, or the analyst bought the question's answers from
    others lately: then it is bought, as ever, and the dataset pays nothing.

    Attributes:
      ledger: has the analyst's answers.
      enabled: does the policy want it?
      settled: questions whose answer the analyst has, by analyst and the answer key that everybody's has.
      told: earlier answers, by their charge.
    """

    ledger: OwnAnswers
    enabled: bool = True
    settled: LruCache[tuple[str, str], Question] = field(default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES))
    told: LruCache[int, _Told] = field(default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES))

    def at_once(self, question: Question, analyst: str) -> bool:
        """Is `own` a matter of memory alone?"""
        return not self._may_start(question) or self._settled(question, analyst) is not None

    def own(self, question: Question, analyst: str) -> Question:
        """The question as this analyst asks it.

        The very same question of the same load finds the answer that the analyst has, whatever was asked since.

        Args:
          question: whoever asks.
          analyst: who asks now.
        Cost: two or three reads of the ledger, and the earlier answers that are not in memory; nothing for a question
          whose answer the analyst was found to have.
        """
        if not self._may_start(question):
            return question
        known = self._settled(question, analyst)
        if known is not None:
            return known
        name = base_of(question.answer_key)
        paid = self.ledger.answers_to(analyst, question.plan_hash, name)
        if paid:
            start = Start.of(paid[0].charge.answer_key)
            if start is not None:
                records = self.ledger.answers_to(analyst, question.plan_hash, limit=2 * WINDOW)
                before = [record for record in records if record.number <= start.number][:WINDOW]
                start = replace(start, expected=self._expected(question, start.rungs, before))
            return self.settled.put((analyst, name), question if start is None else _started(question, start))
        records = self.ledger.answers_to(analyst, question.plan_hash, limit=WINDOW)
        if not records or any(record.charge.repeats for record in records):
            return question
        if self.ledger.kept_answer(question.answer_key, analyst) is not None:
            return question
        return _started(question, self._start(question, records))

    def _settled(self, question: Question, analyst: str) -> Question | None:
        return self.settled.get((analyst, base_of(question.answer_key)))

    def _may_start(self, question: Question) -> bool:
        """From the question alone: whether its answer can be sold must not hang on anybody's answers."""
        return self.enabled and question.plan.sampling is None and any(map(can_start, question.measuring.releases))

    def _start(self, question: Question, records: Sequence[ChargeRecord]) -> Start:
        """What follows from the analyst's answers, the newest of which is the first record."""
        rungs = [
            start_from(question.measuring.releases[place], earlier, n_groups) if earlier else None
            for place, (earlier, n_groups) in enumerate(self._earlier(question, records))
        ]
        start = Start(records[0].number, tuple(rungs))
        return replace(start, expected=self._expected(question, start.rungs, records))

    def _expected(
        self, question: Question, rungs: Sequence[int | None], records: Sequence[ChargeRecord]
    ) -> tuple[Expected | None, ...]:
        """What is known of releases at these thresholds, by the answers that they follow from."""
        measured = zip(question.measuring.releases, rungs, self._earlier(question, records), strict=True)
        return tuple(
            None if rung is None or not earlier else expected_from(one, earlier, rung, n_groups)
            for one, rung, (earlier, n_groups) in measured
        )

    def _earlier(self, question: Question, records: Sequence[ChargeRecord]) -> list[tuple[list[Earlier], int]]:
        """Per release, what earlier answers told of it, the oldest first, and of how many groups the newest was."""
        told = [one for record in reversed(records) if (one := self._told(record)) is not None]
        found = []
        for place in range(len(question.measuring.releases)):
            of_release = [one.releases[place] for one in told if place < len(one.releases)]
            found.append(([one for one in of_release if one is not None], told[-1].n_groups if told else 0))
        return found

    def _told(self, record: ChargeRecord) -> _Told | None:
        known = self.told.get(record.number)
        if known is not None:
            return known
        kept = self.ledger.kept_answer(record.charge.answer_key, record.charge.analyst)
        if kept is None or not kept.paid:
            return None
        released, start = decoded(kept.answer), Start.of(record.charge.answer_key)
        chosen = (True,) * len(released.noisy) if start is None else tuple(rung is None for rung in start.rungs)
        releases = tuple(Earlier.of(*one) for one in zip(released.noisy, chosen, strict=True))
        return self.told.put(record.number, _Told(len(released.domain), releases))


def _started(question: Question, start: Start) -> Question:
    some = any(rung is not None for rung in start.rungs)
    return question.starting_from(start, _NOTE.format(number=start.number) if some else "")
