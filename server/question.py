"""A planned query over private tables: everything about it that does not depend on who asks.

This includes the keys by which two questions share one answer, and by which the ledger names a query.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from planner.binding.bound_query import BoundQuery
from planner.group_domains.day_conditions import DayColumn
from planner.plan import BackendQuery, GroupSelection, Plan, Release
from planner.postprocessing.released_tables import ReleasedRelation
from planner.postprocessing.write_outer import Relation
from planner.released_expression import RowCount, is_never_true
from planner.schema import Dialect
from privacy.accounting.event import Composed, PrivacyEvent, leaves
from server.ledger.charge import Charge
from server.ledger.currency import charged_delta, charged_epsilon, delta_of, epsilon_of
from server.lru_cache import LruCache
from server.query import SETTINGS, QueryRequest, QueryResponse
from server.workers.measure import Measuring

_SHOWN = 1024

_SHOWN_BYTES = 64 << 20

shown_answers: LruCache[tuple[int, int], QueryResponse] = LruCache(_SHOWN, _SHOWN_BYTES, lambda shown: shown.n_bytes)
"""Responses that were served from the cache, by the question's `serial` and the charges of their releases."""

_BYTES, _BYTES_PER_CHARACTER, _BYTES_PER_VALUE = 300_000, 90, 160
"""Of a question's tables, its statements' trees and its listed keys: measured over the collected statements."""

_serials = itertools.count()


@dataclass(frozen=True)
class Asked:
    """Everything that a plan depends on. Equal values give the same Question.

    Attributes:
      words: statement, parameters with their types, and settings.
      now: the value of now(), rounded to the policy's time grain.
      data_version: of the ledger.
      facts_hash, fingerprint: of the policy, with the ranges that were read, and of the schema.
    """

    words: tuple[object, ...]
    now: datetime
    data_version: int
    facts_hash: str
    fingerprint: str


def words_of(request: QueryRequest) -> tuple[object, ...]:
    """Statement, parameters, settings and session of a request, without its sender.

    Parameters count by type and spelling: 1, 1.0 and true are equal in Python, and so are the decimals 2 and 2.0.
    """
    typed = tuple((type(value).__qualname__, repr(value)) for value in request.parameters)
    settings = (getattr(request, name) for name in SETTINGS)
    return (request.sql, typed, *settings, request.search_path, request.zone)


def request_hash(request: QueryRequest) -> str:
    """The hash of a request that has an idempotency key, or empty.

    It covers everything that determines what is released and how it is shown, except the form of the response.
    Returns: SHA-256 in hex.
    """
    if not request.idempotency_key:
        return ""
    return hashlib.sha256(repr(words_of(request)).encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """A planned query: what is read, measured and charged for it.

    Attributes:
      plan: the question in normal form.
      query: the statements for the database.
      measuring: the measurements.
      answer_key: the cache key, under a policy, a data version and a moment.
      data_version: of the ledger.
      mirrored: the statements for the mirror; None: no mirror, or only the database supports them.
      day_columns: of the append-only tables that it joins.
      bound: what the plan was made from; None if nobody will ask for other days or keys.
      serial: unique in this process.
      tables: of released values, which it reads beside private rows. Its answer key then names their answers
        (`after`). Nothing is derived from its answer, nor it from others.
    """

    plan: Plan
    query: BackendQuery
    measuring: Measuring
    answer_key: str
    data_version: int = 1
    mirrored: BackendQuery | None = None
    day_columns: tuple[DayColumn, ...] = ()
    bound: BoundQuery | None = field(default=None, compare=False, repr=False)
    serial: int = field(default_factory=lambda: next(_serials), compare=False, repr=False)
    tables: tuple[ReleasedRelation, ...] = field(default=(), compare=False, repr=False)

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take over the question that a worker has planned, under a number of this process."""
        self.__dict__.update(state, serial=next(_serials))

    def after(self, sources: Sequence[str]) -> Question:
        """The question whose tables come from these sources: the keys of answers, and what is computed from them.

        A key has one answer, so the rows of the tables are a function of the new key.
        """
        text = "\n".join(["after", self.answer_key, *sources])
        return replace(self, answer_key=hashlib.sha256(text.encode()).hexdigest())

    def over(self, relations: Sequence[Relation], dialect: Dialect) -> Question:
        """The question with the rows of its tables, for a database of this dialect."""
        here, there = (", ".join(one.sql(name) for one in relations) for name in (dialect, "mirror"))
        mirrored = None if self.mirrored is None else self.mirrored.over(there)
        return replace(self, query=self.query.over(here), mirrored=mirrored)

    @property
    def whole_bound(self) -> BoundQuery:
        """The bound query that the plan was made from. It serves to ask the same for other days or keys."""
        assert self.bound is not None, "what requests ask is planned with it"
        return self.bound

    @property
    def most_bytes(self) -> int:
        """About the most bytes that it takes in memory, by the length of its statements.

        To count them would walk over all its trees, which takes a fourth of the time of planning.
        """
        keys = () if self.bound is None else (key.values for key in self.bound.keys)
        values = sum(len(listed) for listed in (*self.query.values, *keys) if listed is not None)
        return _BYTES + _BYTES_PER_CHARACTER * sum(map(len, self.query.texts)) + _BYTES_PER_VALUE * values

    @property
    def only_names_groups(self) -> bool:
        """Whether the question only lists groups, so that nothing is measured or charged."""
        return not self.plan.releases

    @property
    def shows_no_row(self) -> bool:
        """Whether no row is ever shown: LIMIT 0, or a HAVING that is never true."""
        plan = self.plan
        never = plan.display.having is not None and is_never_true(plan.display.having)
        counted = any(isinstance(output.expression, RowCount) for output in plan.display.outputs)
        return (plan.display.limit == 0 or never) and not counted

    @cached_property
    def plan_hash(self) -> str:
        """The hash of what is read."""
        return plan_hash(self.query)

    @property
    def event(self) -> PrivacyEvent | None:
        """The privacy event of all measurements together. None for a sample, whose joint loss is the plan's epsilon.

        Releases from one sample are no composition of events (docs/mathematics.md, section 7.1).
        """
        if self.plan.sampling is not None and self.plan.sampling.amplifies:
            return None
        threshold = self.measuring.threshold
        events = tuple(part for measured in self.measuring.releases for part in leaves(measured.event))
        events += () if threshold is None else (threshold.event,)
        return events[0] if len(events) == 1 else Composed(events)

    def charge(self, request: QueryRequest) -> Charge:
        """The charge for the asking analyst, in the ledger's units."""
        return Charge(
            analyst=request.analyst,
            epsilon=epsilon_of(charged_epsilon(self.plan.epsilon)),
            delta=delta_of(charged_delta(self.plan.delta)),
            request_id=request.request_id,
            policy_hash=self.plan.policy_hash,
            plan_hash=self.plan_hash,
            mechanism=self.plan.mechanism,
            event=self.event,
            answer_key=self.answer_key,
            idempotency_key=request.idempotency_key,
            request_hash=request_hash(request),
        )


def plan_hash(query: BackendQuery) -> str:
    """SHA-256 of everything that determines what is read."""
    document = json.dumps(query.what_is_read(), sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()


_VERSION = 1


def answer_key(plan: Plan, query: BackendQuery, time_grain: str, data_version: int) -> str:
    """The hash of everything that determines what is released, but not of how it is shown.

    Parameters and now() are literals of the plan, and aliases and spacing are gone. Output names, HAVING, ORDER BY
    and LIMIT use released values only, so they are left out.

    Returns: SHA-256 in hex.
    """
    sampling, chosen = plan.sampling, plan.selection
    document = {
        "version": _VERSION,
        "policy": plan.relied_on,
        "data_version": data_version,
        "time_grain": time_grain,
        "read": query.what_is_read(),
        "releases": [_measured(release) for release in plan.releases],
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "mechanism": plan.mechanism,
        "groups_per_unit": plan.bounds.groups,
        "tuples_per_unit": plan.bounds.tuples,
        "owners": len(plan.owners),
        "release_delta": plan.release_delta,
        "group_rule": plan.bounds.rule,
        "selection": None if chosen is None else _selecting(chosen),
        **({} if not plan.bounds.kinds else {"kinds": [[one.relation, one.determines] for one in plan.bounds.kinds]}),
        **({} if plan.bounds.assumed is None else {"nobody_adds_more_than": plan.bounds.assumed}),
        "sampling": None if sampling is None else [sampling.strategy, sampling.rate, sampling.amplifies],
    }
    # repr tells a date of a declared domain from the text that looks like it.
    text = json.dumps(document, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _selecting(selection: GroupSelection) -> list[object]:
    """What determines the shown groups, besides the groups per unit."""
    return [selection.epsilon, selection.delta, selection.minimum, *(["votes"] if selection.votes else [])]


def _measured(release: Release) -> list[object]:
    """The parameters of a release; its SQL is part of the query."""
    counts_values = release.distinct is not None
    parts: list[object] = [release.weight_bound, release.epsilon, release.whole, counts_values, release.determined]
    ranked = None if release.ranked is None else [release.ranked.grid, release.ranked.rank, "choice paid once"]
    more = [release.around, ranked, release.alone or None]
    parts += more if any(one is not None for one in more) else []
    return parts if release.bound is None else [*parts, release.bound]
