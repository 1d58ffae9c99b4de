"""A query over private tables, planned: everything about it that does not depend on who asks.

What two questions must share to have one answer, and the hash that names a rewritten query in the ledger.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from planner.binding.bound_query import BoundQuery
from planner.group_domains.day_conditions import DayColumn
from planner.plan import BackendQuery, GroupSelection, Plan, Release
from planner.released_expression import RowCount, is_never_true
from privacy.accounting.event import Composed, PrivacyEvent
from server.ledger.charge import Charge
from server.ledger.currency import charged_delta, charged_epsilon, delta_of, epsilon_of
from server.lru_cache import LruCache
from server.query import SETTINGS, QueryRequest, QueryResponse
from server.workers.measure import Measuring

_SHOWN = 1024

_SHOWN_BYTES = 64 << 20

shown_answers: LruCache[tuple[int, int], QueryResponse] = LruCache(_SHOWN, _SHOWN_BYTES, lambda shown: shown.n_bytes)
"""Answers that were served again, by the question's `serial` and the charge of their releases."""

_serials = itertools.count()


@dataclass(frozen=True)
class Asked:
    """What a plan is made from: where all of it is equal, so is the Question.

    Attributes:
      words: statement, parameters with their types, and settings.
      now: what now() stands for, snapped to the policy's grain.
      data_version: the custodian's.
      policy_hash, fingerprint: of the policy and the schema.
    """

    words: tuple[object, ...]
    now: datetime
    data_version: int
    policy_hash: str
    fingerprint: str


def words_of(request: QueryRequest) -> tuple[object, ...]:
    """Statement, parameters, settings and session of a request, whoever sends it.

    Parameters by type and by spelling: 1, 1.0 and true are equal in Python, and so are the decimals 2 and 2.0.
    """
    typed = tuple((type(value).__qualname__, repr(value)) for value in request.parameters)
    settings = (getattr(request, name) for name in SETTINGS)
    return (request.sql, typed, *settings, request.search_path, request.zone)


def request_hash(request: QueryRequest) -> str:
    """Names what a client sent under an idempotency key, as it was written; empty without a key.

    Everything that decides what is released, and how it is shown, is in it; the form of the response is not.
    Returns: SHA-256 in hex.
    """
    if not request.idempotency_key:
        return ""
    return hashlib.sha256(repr(words_of(request)).encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """What is read, measured and charged.

    Attributes:
      plan: what was asked, in normal form.
      query: what the database is asked.
      measuring: how all of it is measured.
      answer_key: names the answer under a policy, a data version and a moment.
      data_version: the custodian's.
      mirrored: what a mirror is asked instead; None where there is none, or the database alone can say it.
      day_columns: of the append-only tables that it joins.
      bound: what the plan was made from; None where nobody will ask for the same of other days.
      serial: no other question of this process has it.
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

    @property
    def whole_bound(self) -> BoundQuery:
        """What the plan was made from, where somebody asks for the same of other days or keys."""
        assert self.bound is not None, "what requests ask is planned with it"
        return self.bound

    @property
    def only_names_groups(self) -> bool:
        """Is there nothing to measure, and nothing to charge?"""
        return not self.plan.releases

    @property
    def shows_no_row(self) -> bool:
        """Is no row of the answer shown, whatever is released: LIMIT 0, or a HAVING that is never true?"""
        plan = self.plan
        never = plan.display.having is not None and is_never_true(plan.display.having)
        counted = any(isinstance(output.expression, RowCount) for output in plan.display.outputs)
        return (plan.display.limit == 0 or never) and not counted

    @cached_property
    def plan_hash(self) -> str:
        """Names what is read."""
        return plan_hash(self.query)

    @property
    def event(self) -> PrivacyEvent | None:
        """What all measurements do to privacy together; None for one sample, whose joint loss is the plan's epsilon.

        Releases from one sample are no composition of events (docs/mathematics.md, section 7.1).
        """
        if self.plan.sampling is not None and self.plan.sampling.amplifies:
            return None
        threshold = self.measuring.threshold
        events = tuple(measured.event for measured in self.measuring.releases)
        events += () if threshold is None else (threshold.event,)
        return events[0] if len(events) == 1 else Composed(events)

    def charge(self, request: QueryRequest) -> Charge:
        """What the analyst who asks would be charged, in the ledger's units: an answer names what was paid."""
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
    """SHA-256 of everything that decides what is read."""
    document = json.dumps(query.what_is_read(), sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()


_VERSION = 1


def answer_key(plan: Plan, query: BackendQuery, time_grain: str, data_version: int) -> str:
    """Name everything that decides what is released, and nothing that only decides how it is shown.

    Parameters, and the moment that now() stands for, are literals of the plan by now, aliases and spacing are gone.
    Output names, HAVING, ORDER BY and LIMIT read released values only and are left out.

    Args:
      plan: what is released, with its policy's hash.
      query: what is read, with the schema's fingerprint.
      time_grain: what the policy snaps now() to.
      data_version: the custodian's.
    Returns: SHA-256 in hex.
    """
    sampling, chosen = plan.sampling, plan.selection
    document = {
        "version": _VERSION,
        "policy": plan.policy_hash,
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
    """What decides which groups are shown, beside how many of them one unit reaches."""
    return [selection.epsilon, selection.delta, selection.minimum, *(["votes"] if selection.votes else [])]


def _measured(release: Release) -> list[object]:
    """What a mechanism is told of a release; its SQL is part of the query."""
    counts_values = release.distinct is not None
    told: list[object] = [release.weight_bound, release.epsilon, release.whole, counts_values, release.determined]
    ranked = None if release.ranked is None else [release.ranked.grid, release.ranked.rank]
    more = [release.around, ranked]
    told += more if any(one is not None for one in more) else []
    return told if release.bound is None else [*told, release.bound]
