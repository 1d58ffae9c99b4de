"""What holds of every history: of answers, charges, draws, and of what innocent people are told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from planner.errors import SchemaChanged
from server.errors import (
    BackendUnavailable,
    BudgetExhausted,
    CancelledByClient,
    CancelledEarly,
    ChargeUnsettled,
    DuplicateRequest,
    LedgerUncertain,
    PaidAnswerUnread,
    QueryFailed,
    SettledBefore,
    TooManyFailures,
)
from server.ledger.charge import ChargeRecord
from tests.support.simulation.history import Asked, History
from tests.support.simulation.ledger_database import GRANTS, TEAM

_STANDS = (QueryFailed, CancelledByClient, ChargeUnsettled, PaidAnswerUnread, SettledBefore)
"""Errors that say that the charge stands."""

_UNKNOWN = (LedgerUncertain, DuplicateRequest)
"""Errors after which the charge of this request, or of the one it repeats, may stand or not."""

_ENDS_CLAIMS = {"cut", "power", "ledger away", "lost before", "lost after", "clock"}
"""Faults after which another proxy may answer a question under way: the proxy that has it seems dead, or its claim
older than an hour."""


def violations(history: History) -> Iterator[str]:
    """Each promise that a history breaks, in words; none of a history that is as it should be."""
    if history.verified.fault is not None:
        yield f"the ledger does not follow from its entries: {history.verified.fault}"
    by_number = {one.number: one for one in history.charges}
    yield from _of_charges(history, by_number)
    yield from _of_answers(history)
    for asked in history.asked:
        yield from _of_errors(asked, history)
        yield from _of_innocents(asked, history)


def _of_charges(history: History, by_number: dict[int, ChargeRecord]) -> Iterator[str]:
    """What was read is paid for; nothing stays open; no account pays more than it has."""
    for one in history.charges:
        if one.state == "reserved":
            yield f"charge {one.number} is still open after everybody has ended"
        if one.state == "released" and one.number in history.reads:
            yield f"charge {one.number} was given back after private rows could have been read"
    for number in history.reads:
        if number not in by_number:
            yield f"private rows were read under charge {number}, which the ledger does not have"
    spent: dict[str, float] = defaultdict(float)
    for one in history.charges:
        if one.state != "released":
            for account in _paying(one):
                spent[account] += one.charge.epsilon
    for account, epsilon in spent.items():
        if epsilon > GRANTS[account] + 1e-9:
            yield f"{account} has paid {epsilon} of {GRANTS[account]}"


def _paying(one: ChargeRecord) -> list[str]:
    analyst = one.charge.analyst
    group = ["group:team"] if analyst in TEAM else []
    return [f"analyst:{analyst}", *group, *(["dataset"] if one.charge.repeats is None else [])]


def _of_answers(history: History) -> Iterator[str]:
    """Every number that arrived was drawn once, is kept under one charge, and who has it has paid for it."""
    drawn = {draw.value: draw.reservation.id for draw in history.draws}
    for number, times in Counter(drawn.values()).items():
        if times > 1:
            yield f"{times} measurements have ended under charge {number}"
    for asked in history.asked:
        if asked.value is None or asked.follows:
            continue
        if asked.value not in drawn:
            yield f"{asked.value} arrived, which nothing has drawn"
            continue
        number = drawn[asked.value]
        if history.kept.get(number) != asked.value:
            yield f"{asked.value} arrived, and charge {number} keeps {history.kept.get(number)}"
        analyst = asked.request.analyst
        paid = [
            one
            for one in history.charges
            if one.state == "committed"
            and one.charge.analyst == analyst
            and number in (one.number, one.charge.repeats)
        ]
        if not paid:
            yield f"{analyst} was told {asked.value} and has not paid for it"


def _of_errors(asked: Asked, history: History) -> Iterator[str]:
    """What an error says of the charge is so."""
    own = [one for one in history.charges if one.charge.request_id == asked.request.request_id]
    standing = [one for one in own if one.state != "released"]
    if asked.value is not None:
        charged = sum(one.charge.epsilon for one in standing)
        if abs(charged - asked.charged) > 1e-9:
            yield f"{asked.request.request_id} was charged {charged}, and was told {asked.charged}"
    elif isinstance(asked.error, _STANDS):
        if not standing:
            yield f"{asked.request.request_id} was told {type(asked.error).__name__}, and has no charge"
    elif asked.error is not None and not isinstance(asked.error, _UNKNOWN) and standing:
        yield f"{asked.request.request_id} was told {type(asked.error).__name__}, and was charged"


def _of_innocents(asked: Asked, history: History) -> Iterator[str]:
    """Nobody's question fails for what was done to another's."""
    error, name = asked.error, type(asked.error).__name__
    if error is None or isinstance(error, DuplicateRequest):
        return
    if isinstance(error, BudgetExhausted):
        assert asked.request.epsilon is not None
        if asked.least_left >= asked.request.epsilon:
            yield f"{asked.request.request_id} was refused with {asked.least_left} left"
    elif isinstance(error, CancelledByClient | CancelledEarly):
        if "cancelled" not in asked.faults:
            yield f"{asked.request.request_id} was told {name}, and nobody cancelled it"
    elif isinstance(error, BackendUnavailable | SchemaChanged):
        if not set(asked.faults) & {"data away", "schema", "worker: no database"}:
            yield f"{asked.request.request_id} was told {name} while the database was there"
    elif isinstance(error, TooManyFailures):
        if not _has_failed(asked, history):
            yield f"{asked.request.request_id} was refused as one that had failed, and none has"
    elif isinstance(error, SettledBefore):
        if not _ENDS_CLAIMS.intersection(history.injected):
            yield f"{asked.request.request_id} was told {name}, and no claim can have ended"
    elif not asked.faults:
        yield f"{asked.request.request_id} failed with {name}: {error}, and nothing was done to it"


def _has_failed(asked: Asked, history: History) -> bool:
    """Did this analyst's question fail in a measurement, and is its charge settled so?

    Nobody need have been told: a proxy may end after it has noted the failure and before the client hears of it, and
    what has failed once is not asked again all the same, or ending proxies would ask it as often as one likes.
    """
    same = {
        one.request.request_id
        for one in history.asked
        if (one.request.analyst, one.request.sql) == (asked.request.analyst, asked.request.sql)
    }
    return any(
        one.number in history.failed and one.state == "failed" and one.charge.request_id in same
        for one in history.charges
    )
