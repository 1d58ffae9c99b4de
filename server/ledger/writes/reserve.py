"""The life of a charge: reserved in all its accounts or none, then answered, failed, given back or crashed.

A charge is claimed only if nobody else has its question, so that proxies that share a ledger measure it once.

Whether a query fails is an output that no epsilon covers (docs/mathematics.md, section 10.1). So all failures look
alike, are charged, and are few; a query that failed is not asked again. They are counted in the write that reserves,
so the limit holds on every proxy and after restarts. Charges that are given back cost nothing and stay in the ledger,
so they are limited, too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeAlias

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import Spent
from server.errors import (
    DuplicateRequest,
    LedgerInvalid,
    QueryTooExpensive,
    RateLimited,
    SettledBefore,
    TooManyFailures,
    TooManyOwnQueries,
    TooManyQueries,
    UnknownAnalyst,
)
from server.ledger.account import DATASET, Accounting, analyst_account, group_account
from server.ledger.analyst import Analyst
from server.ledger.balance import Balance
from server.ledger.charge import Charge, Reservation
from server.ledger.currency import amount_of, charged_delta, charged_epsilon
from server.ledger.entry import (
    Committed,
    Crashed,
    EntryContent,
    EntryKind,
    Failed,
    Released,
    Reserved,
    Settlement,
    Tuning,
)
from server.ledger.store import ACTS_OF_KIND, FAILURES, Reading, Store
from server.ledger.writes import account_rows, charge_rows
from server.ledger.writes.account_rows import analyst
from server.ledger.writes.charge_rows import basic_in, charge_in, payments_in
from server.ledger.writes.clock import check_renewed
from server.ledger.writes.journal import Journal
from server.ledger.writes.refusal import check_caps

MAX_FAILURES = 20
"""Failures of one analyst within WINDOW_MS, including open questions."""

MAX_DATASET_FAILURES = 200
"""Failures of all analysts within WINDOW_MS, including open questions."""

OWN_FAILURES = 3
"""Failures of one analyst, including open questions, that others cannot use up: so nobody locks out everybody."""

MAX_CRASHED = 100
"""Questions of one analyst that were open when their proxy ended, within WINDOW_MS. They are no failures, but a
system that is short of memory may end the proxy together with the worker that holds the rows.
"""

WINDOW_MS = 24 * 3_600_000
"""How long a failure counts."""

CLAIM_MS = 3_600_000
"""How long a reservation counts as under way. A proxy that could not write how a question ended leaves it open."""

_FAILED = f"SELECT number, kind, content FROM entries WHERE {FAILURES} AND at_ms > ?"

_ENABLED = f"SELECT number, content FROM entries WHERE {ACTS_OF_KIND} ORDER BY number DESC LIMIT 1000"

_UNDER_WAY = (
    "SELECT c.instance, c.analyst FROM charges c JOIN entries e ON e.number = c.entry"
    " WHERE c.state = 'reserved' AND c.repeats IS NULL AND e.at_ms > ?"
)

_HINT = (
    "nothing was charged; ask the administrator: the log has the reason, and `noisegate analyst enable` lets you ask"
    " again"
)


def asked_failures(journal: Journal, store: Store, charge: Charge) -> Callable[[], None]:
    """Ask for recent failures together with other questions; the returned function refuses one failure too many.

    Questions that their client cancelled do not count. Those that were open when their proxy ended have a limit of
    their own. Failures before an administrator enabled the analyst (again) do not count either.
    Raises: the returned function: TooManyFailures if too many queries, or this one, failed within a day;
      TooManyOwnQueries or TooManyQueries if as many are open as may still fail. Nothing is charged then.
    Cost: one indexed scan of the day's failures, one of the newest acts that enable, and one of the open charges.
    """
    failed = journal.writing.asked(_FAILED, journal.at_ms - WINDOW_MS)
    enabled = journal.writing.asked(_ENABLED, EntryKind.ENABLED)
    under_way = journal.writing.asked(_UNDER_WAY, journal.at_ms - CLAIM_MS)

    def check() -> None:
        lifted: dict[str, int] = {}
        for number, content in enabled():
            lifted.setdefault(json.loads(content)["analyst"], number)
        said = [(number, kind, json.loads(content)) for number, kind, content in failed()]
        standing = [(kind, one) for number, kind, one in said if number > lifted.get(one["analyst"], 0)]
        failures = [one for kind, one in standing if kind == EntryKind.FAILED]
        crashed = sum(kind == EntryKind.CRASHED and one["analyst"] == charge.analyst for kind, one in standing)
        lives = _lives(journal, store)
        open_by = Counter(analyst for instance, analyst in under_way() if lives(instance))
        mine = [one["plan_hash"] for one in failures if one["analyst"] == charge.analyst]
        possible = len(mine) + open_by[charge.analyst]
        of_all = possible >= OWN_FAILURES
        if len(mine) >= MAX_FAILURES:
            raise TooManyFailures(f"{MAX_FAILURES} of your queries failed within a day", hint=_HINT)
        if crashed >= MAX_CRASHED:
            message = f"{MAX_CRASHED} of your queries were under way when a proxy ended, within a day"
            raise TooManyFailures(message, hint=_HINT)
        if charge.plan_hash in mine:
            raise TooManyFailures("this query failed already within a day", hint=_HINT)
        if of_all and len(failures) >= MAX_DATASET_FAILURES:
            raise TooManyFailures(f"{MAX_DATASET_FAILURES} queries over this data failed within a day", hint=_HINT)
        if possible >= MAX_FAILURES:
            hint = "nothing was charged; wait for one of them to end"
            raise TooManyOwnQueries(f"{open_by[charge.analyst]} of your queries are under way", hint=hint)
        if of_all and len(failures) + open_by.total() >= MAX_DATASET_FAILURES:
            raise TooManyQueries("too many queries are running", hint="try again; nothing was charged")

    return check


def _lives(journal: Journal, store: Store) -> Callable[[str], bool]:
    """Whether a proxy, by its instance, still runs. Each is asked for once."""
    return cache(lambda instance: instance == journal.instance or not store.is_dead(journal.writing, instance))


MAX_GIVEN_BACK = 40
"""After this many consecutive charges that were given back, an analyst's charges are slowed down."""

PAUSE_MS = 10_000
"""The pause between further charges. Each takes 1.4 KB of the ledger, so it grows by half a megabyte an hour at
most.
"""

_NEWEST = (
    "SELECT c.state, e.at_ms FROM charges c JOIN entries e ON e.number = c.entry WHERE c.analyst = ?"
    f" ORDER BY c.number DESC LIMIT {MAX_GIVEN_BACK}"
)


def asked_given_back(journal: Journal, charge: Charge) -> Callable[[], None]:
    """Ask for the newest charges together with other questions; the returned function slows down an analyst.

    Raises: the returned function: RateLimited, with the seconds to wait; nothing is charged.
    Cost: MAX_GIVEN_BACK rows by an index.
    """
    newest = journal.writing.asked(_NEWEST, charge.analyst)

    def check() -> None:
        rows = newest()
        if len(rows) < MAX_GIVEN_BACK or any(state not in ("reserved", "released") for state, _ in rows):
            return
        wait_ms = rows[0][1] + PAUSE_MS - journal.at_ms
        if wait_ms > 0:
            raise RateLimited(f"none of your last {MAX_GIVEN_BACK} questions could start", -(-wait_ms // 1000))

    return check


Settled: TypeAlias = type[Committed] | type[Failed] | type[Released]
"""How a proxy may settle its own reservation."""


def settle(
    journal: Journal, reservation: Reservation, settled: Settled, answer: bytes | None = None, *, counts: bool = False
) -> Balance:
    """Settle a reservation of this instance and cache its answer.

    Args:
      counts: is it a failure that counts against the limit?
    Returns: the balance of the analyst's own account afterwards.
    Raises: LedgerInvalid if it is not open, or belongs to another instance. AnsweredElsewhere if the question has an
      answer: others may have read it, so there can be no second one.
    """
    own = analyst_account(reservation.charge.analyst)
    balance = account_rows.asked_balance(journal.writing, own)  # only what is given back changes it
    if journal.done_before() is None:
        answer_key, entry, analyst, plan_hash = _reservation_of(journal, reservation.id, settled)
        cached = answer if answer_key and settled is Committed and reservation.charge.repeats is None else None
        if cached is not None and journal.writing.row(_ANSWERED, answer_key) is not None:
            raise AnsweredElsewhere
        digest = None if cached is None else charge_rows.digest(cached)
        whose = {"analyst": analyst, "plan_hash": plan_hash} if counts else {}
        _mark(journal, settled(charge=reservation.id, answer=digest, **whose))
        if cached is not None:
            charge_rows.cache(journal.writing, reservation.id, answer_key, cached)
        if settled is Released:
            _give_back(journal, entry)
            balance = account_rows.asked_balance(journal.writing, own)
    return balance().as_of(journal.at_ms, journal.utc_ms)


def recover(journal: Journal, store: Store) -> tuple[Reservation, ...]:
    """Mark the open charges of dead instances as crashed and return them by number; they stay charged."""
    rows = journal.writing.rows(
        "SELECT c.number, c.instance, c.analyst, c.plan_hash, e.content FROM charges c JOIN entries e ON e.number = "
        "c.entry WHERE c.state = 'reserved' ORDER BY c.number"
    )
    others = {instance for _, instance, *_ in rows if instance != journal.instance}
    dead = {instance for instance in others if store.is_dead(journal.writing, instance)}
    left = [row for row in rows if row[1] in dead]
    for number, _, whose, plan_hash, _ in left:
        _mark(journal, Crashed(charge=number, answer=None, analyst=whose, plan_hash=plan_hash))
    return tuple(Reservation(number, charge_in(Reserved.read(text))) for number, *_, text in left)


def _reservation_of(journal: Journal, number: int, settled: Settled) -> tuple[str, int, str, str]:
    """The answer key, entry, analyst and plan of a charge that this instance may settle."""
    row = journal.writing.row(
        "SELECT answer_key, entry, analyst, plan_hash FROM charges"
        " WHERE number = ? AND state = 'reserved' AND instance = ?",
        *(number, journal.instance),
    )
    if row is None:
        raise SettledBefore(f"Charge {number} is not reserved, so it cannot be {settled.kind}.")
    answer_key, entry, analyst, plan_hash = row
    return answer_key, entry, analyst, plan_hash


def _mark(journal: Journal, said: Settlement) -> None:
    values = said.kind.value, journal.append(said), said.charge
    journal.writing.run("UPDATE charges SET state = ?, settled_by = ? WHERE number = ?", *values)


def _give_back(journal: Journal, entry: int) -> None:
    row = journal.writing.row("SELECT content FROM entries WHERE number = ?", entry)
    assert row is not None, "a charge refers to its entry"
    reserved = Reserved.read(row[0])
    give_back(journal, reserved, basic_in(reserved))


def give_back(journal: Journal, reserved: Reserved | Tuning, basic: Amount) -> None:
    """Give a reservation back to its accounts; `basic` is its cost by basic composition."""
    payments = payments_in(reserved)
    for one in account_rows.balances(journal.writing, tuple(payments)):
        amount, started_ms = payments[one.name]
        account_rows.update_spent(journal.writing, one.at(journal.at_ms).refunded(amount, basic, started_ms))


class Short(Exception):
    """A charge does not fit: raised within the write, which is rolled back.

    Attributes:
      accounts: those that are short, at least one.
      paying: all that would have paid.
    """

    def __init__(self, charge: Charge, accounts: tuple[Balance, ...], paying: tuple[Balance, ...]) -> None:
        super().__init__()
        self.charge = charge
        self.accounts = accounts
        self.paying = paying


class AnsweredElsewhere(Exception):
    """Another proxy has answered, or is answering, one of the questions: raised to roll the write back."""


def reserved(journal: Journal, charge: Charge) -> Reservation:
    """Write the reservation of one charge. Raises: Short; and as `Ledger.claim_all`."""
    last_number = charge_rows.asked_last_number(journal.writing)
    payer = _payer(journal.writing, charge.analyst)
    _check_unused(journal.writing, charge)
    released = _check_repeats(journal.writing, charge)
    names = paying_accounts(payer, releases=not released)
    paying = tuple(one.at(journal.at_ms) for one in account_rows.balances(journal.writing, names))
    check_renewed(journal, paying)
    check_caps(charge, paying)
    amounts, short = priced(charge, paying)
    if short:
        raise shortage(charge, account_rows.balances(journal.writing, paying_accounts(payer)), journal.at_ms)
    number = last_number() + 1
    entry = journal.append(charge_rows.reserved_content(number, charge, paying, amounts))
    charge_rows.insert(journal.writing, number, entry, charge, journal.instance)
    for one in charged(charge, paying, amounts):
        account_rows.update_spent(journal.writing, one)
    return Reservation(number, charge)


Amounts: TypeAlias = dict[Accounting, Spent]
"""The cost of a charge by accounting."""


def priced(charge: Charge, paying: Iterable[Balance]) -> tuple[Amounts, tuple[Balance, ...]]:
    """The cost of a charge, and the accounts that it does not fit."""
    amounts = {one.terms.accounting: amount_of(one.terms.accounting, charge) for one in paying}
    return amounts, tuple(one for one in paying if not one.admits(amounts[one.terms.accounting]))


def charged(charge: Charge, paying: Iterable[Balance], amounts: Amounts) -> tuple[Balance, ...]:
    """The accounts after the charge."""
    basic = Amount(charged_epsilon(charge.epsilon), charged_delta(charge.delta))
    return tuple(one.charged(amounts[one.terms.accounting], basic) for one in paying)


def shortage(charge: Charge, accounts: Iterable[Balance], at_ms: int) -> Short:
    """The accounts that a charge does not fit, including the dataset's even if it would not pay.

    Otherwise the refusal of a cached answer would reveal, for free, that another analyst has asked the question.
    """
    every = tuple(one.at(at_ms) for one in accounts)
    return Short(charge, priced(charge, every)[1], every)


def paying_accounts(payer: Analyst, *, releases: bool = True) -> tuple[str, ...]:
    """The accounts that pay for a query. The dataset pays for an answer once."""
    group = () if payer.group is None else (group_account(payer.group),)
    return (analyst_account(payer.name), *group, *((DATASET,) if releases else ()))


def _payer(reading: Reading, name: str) -> Analyst:
    payer = analyst(reading, name)
    if not payer.enabled:
        raise UnknownAnalyst("This analyst is disabled.", hint="Ask the administrator.")
    return payer


def _check_unused(reading: Reading, charge: Charge) -> None:
    if not charge.idempotency_key:
        return
    if charge_rows.by_idempotency_key(reading, charge.analyst, charge.idempotency_key) is not None:
        raise DuplicateRequest(
            "This idempotency key has made a charge already.", hint="Use a new key for a new request."
        )


_SOLD = (
    "SELECT e.content FROM charges c JOIN entries e ON e.number = c.entry"
    " WHERE c.answer_key = ? AND c.state = 'committed' AND (c.number = ? OR c.repeats = ?) ORDER BY c.number"
)


def _check_repeats(reading: Reading, charge: Charge) -> bool:
    """A cached answer costs what it cost at first: the same epsilon, delta and event, for the same question.

    Returns: whether the dataset has paid for the answer. It has not where its account is younger.
    """
    if charge.repeats is None:
        return False
    row = reading.row(
        "SELECT e.content FROM answers a JOIN charges c ON c.number = a.number JOIN entries e ON e.number = c.entry"
        " WHERE a.number = ? AND a.answer_key = ? AND c.state = 'committed'",
        *(charge.repeats, charge.answer_key),
    )
    if row is None:
        raise LedgerInvalid(f"There is no cached answer {charge.repeats} of this question.")
    first = charge_rows.charge_in(Reserved.read(row[0]))
    if _price(first) != _price(charge):
        raise LedgerInvalid(f"The cached answer {charge.repeats} has another price.")
    sold = reading.rows(_SOLD, charge.answer_key, charge.repeats, charge.repeats)
    return any(DATASET in payments_in(Reserved.read(content)) for (content,) in sold)


def _price(charge: Charge) -> tuple[object, ...]:
    return charged_epsilon(charge.epsilon), charged_delta(charge.delta), charge.event


_ANSWERED = "SELECT 1 FROM answers WHERE answer_key = ? LIMIT 1"

# Has this analyst paid for the answer, as charge ? or by a charge that repeats it? An empty key means no answer.
_PAID = (
    "SELECT 1 FROM charges WHERE answer_key = ? AND answer_key <> '' AND analyst = ? AND state = 'committed'"
    " AND (number = ? OR repeats = ?) LIMIT 1"
)

_OPEN = (
    "SELECT DISTINCT c.instance FROM charges c JOIN entries e ON e.number = c.entry"
    " WHERE c.state = 'reserved' AND c.answer_key = ? AND c.instance <> ? AND e.at_ms > ?"
)


def claim_all(journal: Journal, store: Store, charges: Sequence[Charge]) -> tuple[Reservation, ...]:
    """Reserve several charges, all or none, if nobody has measured or is measuring one of the questions.

    Writes of a ledger run one after another, so of two proxies the second one learns of the first. A dead proxy
    blocks nobody. A proxy that lost its sessions for a moment may be taken for dead: then the question is measured
    twice, both charges stand, and only the first answer leaves (`settle`).

    Raises: AnsweredElsewhere; as `reserved`; for a release also as `asked_failures` and `asked_given_back`.
    """
    if done := journal.all_done_before():
        return tuple(map(reservation_of, done, charges))
    return tuple(_claimed(journal, store, charge) for charge in charges)


def reservation_of(done: EntryContent, charge: Charge) -> Reservation:
    """The reservation that an attempt whose answer was lost has made."""
    assert isinstance(done, Reserved), "what reserving has written"
    return Reservation(done.charge, charge)


def _claimed(journal: Journal, store: Store, charge: Charge) -> Reservation:
    assert charge.answer_key, "an answer that is not cached cannot be claimed"
    if _is_done(journal, charge):
        raise AnsweredElsewhere
    checks = [] if charge.repeats else [asked_failures(journal, store, charge), asked_given_back(journal, charge)]
    if _is_under_way(journal, store, charge):
        raise AnsweredElsewhere
    for check in checks:
        check()
    return reserved(journal, charge)


def _is_done(journal: Journal, charge: Charge) -> bool:
    """Is the answer cached? For a cached answer that is sold again: has this analyst paid for it?"""
    if charge.repeats is None:
        return journal.writing.row(_ANSWERED, charge.answer_key) is not None
    who = charge.analyst, charge.repeats, charge.repeats
    return journal.writing.row(_PAID, charge.answer_key, *who) is not None


def _is_under_way(journal: Journal, store: Store, charge: Charge) -> bool:
    """Is a live proxy answering it? Questions within one process are coordinated by `single_flight`."""
    which, values = " AND c.repeats IS NULL", list[object]()
    if charge.repeats is not None:
        which, values = " AND c.repeats = ? AND c.analyst = ?", [charge.repeats, charge.analyst]
    since = journal.at_ms - CLAIM_MS
    rows = journal.writing.rows(_OPEN + which, charge.answer_key, journal.instance, since, *values)
    lives = _lives(journal, store)
    return any(lives(instance) for (instance,) in rows)


def budget_check(charges: Sequence[Charge], reading: Reading) -> Short | QueryTooExpensive | None:
    """The first of several charges that would not fit one after the other; None if all fit.

    The dataset is assumed to pay for each charge. Otherwise EXPLAIN would reveal, for free, which questions of other
    analysts are cached.

    Args:
      charges: of one analyst, as they would be reserved together.
    Returns: QueryTooExpensive for a charge above a cap.
    """
    known: dict[str, Balance] = {}
    for charge in charges:
        payer = account_rows.analyst(reading, charge.analyst)
        names = paying_accounts(payer)
        if missing := tuple(name for name in names if name not in known):
            known |= {
                one.name: one.as_of(reading.at_ms, reading.utc_ms) for one in account_rows.balances(reading, missing)
            }
        paying = tuple(known[name] for name in names if name in known)
        try:
            check_caps(charge, paying)
        except QueryTooExpensive as refusal:
            return refusal
        amounts, short = priced(charge, paying)
        if short:
            return Short(charge, short, paying)
        known |= {one.name: one for one in charged(charge, paying, amounts)}
    return None
