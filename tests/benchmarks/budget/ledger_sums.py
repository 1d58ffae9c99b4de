"""What a ledger's charges sum up to, in whole nano-epsilon, beside what its accounts say."""

from __future__ import annotations

from dataclasses import dataclass

from server.ledger.account import Grant
from server.ledger.currency import charged_epsilon, granted_epsilon
from server.ledger.ledger import Ledger

_PAGE = 1000


@dataclass(frozen=True)
class Charged:
    """Sums over the charges that stand, in nano-epsilon.

    Attributes:
      of_releases: of those that measured: what the dataset pays.
      of_analysts: by analyst, of all.
      n_charges: how many stand.
    """

    of_releases: int
    of_analysts: dict[str, int]
    n_charges: int


def charged(ledger: Ledger) -> Charged:
    """Add up every charge that was not given back."""
    releases, analysts, count, after = 0, dict[str, int](), 0, 0
    while page := ledger.charges(after=after, limit=_PAGE):
        after = page[-1].number
        for record in page:
            if record.state == "released":
                continue
            nano = charged_epsilon(record.charge.epsilon)
            count += 1
            analysts[record.charge.analyst] = analysts.get(record.charge.analyst, 0) + nano
            releases += nano if record.charge.repeats is None else 0
    return Charged(releases, analysts, count)


def spent(ledger: Ledger, account: str) -> int:
    """What an account has spent by basic composition, in nano-epsilon."""
    (balance,) = (one for one in ledger.accounts() if one.name == account)
    grant: Grant = balance.grant
    left = charged_epsilon(balance.epsilon_left) if balance.epsilon_left else 0
    return granted_epsilon(grant.epsilon) - left
