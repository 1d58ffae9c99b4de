"""What would become of charges if they were reserved now, by a read alone: said before a question is asked."""

from __future__ import annotations

from collections.abc import Sequence

from privacy.accounting.amounts import Charge as Amount
from server.errors import QueryTooExpensive
from server.ledger.accounts.amounts import charged_delta, charged_epsilon
from server.ledger.accounts.balance import Balance
from server.ledger.accounts.currency import amount_of
from server.ledger.charge import Charge
from server.ledger.store import Reading
from server.ledger.tables import account_rows
from server.ledger.writes.refusal import check_caps
from server.ledger.writes.reserve import Short, paying_accounts


def foreseen(
    charges: Sequence[Charge], now: tuple[int, int], reading: Reading
) -> tuple[Charge, Short] | QueryTooExpensive | None:
    """The first of several charges that would not fit, taken one after the other, and by what; None: all would.

    The dataset pays in it for every charge, also for what is kept of another analyst's: whether it is, EXPLAIN would
    tell for nothing.

    Args:
      charges: of one analyst, as they would be reserved together.
      now: the ledger's time and the clock's, in milliseconds since the epoch.
      reading: of the ledger.
    Returns: an error of a cap on single queries as it would be raised.
    Raises: UnknownAnalyst.
    Cost: a read of the accounts that pay; writes nothing, and waits for no writer.
    """
    known: dict[str, Balance] = {}
    for charge in charges:
        payer = account_rows.analyst(reading, charge.analyst)
        names = paying_accounts(payer)
        if missing := tuple(name for name in names if name not in known):
            known |= {one.name: one.as_of(*now) for one in account_rows.balances(reading, missing)}
        paying = tuple(known[name] for name in names if name in known)
        try:
            check_caps(charge, paying)
        except QueryTooExpensive as refusal:
            return refusal
        amounts = {one.terms.accounting: amount_of(one.terms.accounting, charge) for one in paying}
        short = tuple(one for one in paying if not one.admits(amounts[one.terms.accounting]))
        if short:
            return charge, Short(short, paying)
        basic = Amount(charged_epsilon(charge.epsilon), charged_delta(charge.delta))
        known |= {one.name: one.charged(amounts[one.terms.accounting], basic) for one in paying}
    return None
