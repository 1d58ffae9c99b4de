"""Taking an epsilon for a tuning, and settling it: as a charge, but the dataset's, and told to everybody."""

from __future__ import annotations

from collections.abc import Sequence

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.saved_spending import save
from server.errors import LedgerInvalid
from server.ledger.account import DATASET
from server.ledger.accounts.amounts import charged_epsilon
from server.ledger.accounts.currency import amount_of
from server.ledger.analyst import Act
from server.ledger.charge import Charge
from server.ledger.entry_contents import Tuned, Tuning
from server.ledger.tables import account_rows
from server.ledger.tables.charge_rows import payments_in
from server.ledger.tables.tuning_rows import tuning, tunings
from server.ledger.tuning import Histogram
from server.ledger.writes.administer import data_version, signed
from server.ledger.writes.journal import Journal
from server.ledger.writes.renewal import check_renewed
from server.ledger.writes.reserve import Short


def reserve_tuning(journal: Journal, charge: Charge, measures: Sequence[tuple[str, str]], act: Act) -> int | Short:
    """Write the reservation; nothing is written for one that does not fit the dataset's account.

    Args:
      journal: the writing transaction.
      charge: the epsilon, and the policy's hash; nobody's.
      measures, act: as of `Tunings.reserve_tuning`.
    Returns: its number, or what it does not fit.
    """
    if (done := journal.done_before()) is not None:
        assert isinstance(done, Tuning), "what reserving has written"
        return done.tuning
    nano = charged_epsilon(charge.epsilon)
    paying = tuple(one.at(journal.at_ms) for one in account_rows.balances(journal.writing, (DATASET,)))
    check_renewed(journal, paying)
    amounts = {one.terms.accounting: amount_of(one.terms.accounting, charge) for one in paying}
    short = tuple(one for one in paying if not one.admits(amounts[one.terms.accounting]))
    if short:
        return Short(short, paying)
    number = len(tunings(journal.writing)) + 1
    journal.append(
        Tuning(
            tuning=number,
            nano_epsilon=nano,
            version=data_version(journal.writing),
            policy_hash=charge.policy_hash,
            measures=[list(one) for one in measures],
            accounts={one.name: [one.terms.accounting, one.started_ms] for one in paying},
            amounts={accounting: save(amount) for accounting, amount in amounts.items()},
            **signed(act),
        )
    )
    for one in paying:
        account_rows.update_spent(journal.writing, one.charged(amounts[one.terms.accounting], Amount(nano)))
    return number


def settle_tuning(journal: Journal, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
    """Write what a tuning came to.

    Args:
      journal: the writing transaction.
      number, histograms, act: as of `Tunings.settle_tuning`.
    Raises: LedgerInvalid for one that is not reserved.
    """
    if journal.done_before() is not None:
        return
    reserved = tuning(journal.writing, number)
    if reserved is None:
        raise LedgerInvalid(f"There is no tuning {number} that is reserved.")
    kept = None if histograms is None else [dict(one) for one in histograms]
    journal.append(Tuned(tuning=number, histograms=kept, **signed(act)))
    if kept is not None:
        return
    for name, (amount, started_ms) in payments_in(reserved).items():
        account = account_rows.balance(journal.writing, name).at(journal.at_ms)
        refunded = account.refunded(amount, Amount(reserved.nano_epsilon), started_ms)
        account_rows.update_spent(journal.writing, refunded)
