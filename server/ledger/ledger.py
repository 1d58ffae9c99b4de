"""The ledger: who may spend how much, and what has been spent; durable before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from server.query import Budget


@dataclass(frozen=True)
class Charge:
    """What one query will spend.

    Attributes:
      analyst: whose budget.
      epsilon: above 0; rounded up to whole nano-epsilon.
      delta: in [0, 1); rounded up to whole atto-delta.
      request_id: the request that asks for it.
      policy_hash: of the policy that the plan was made for.
      plan_hash: of the plan; identifies the question without its literals.
      mechanism: which mechanism will release.
    """

    analyst: str
    epsilon: float
    delta: float
    request_id: str
    policy_hash: str
    plan_hash: str
    mechanism: str


@dataclass(frozen=True)
class Reservation:
    """A charge that is durably taken from the budget; `id` is its number in the ledger, from 1 without gaps."""

    id: int
    charge: Charge


class Ledger(Protocol):
    """Append-only accounts of privacy budgets; every method may be called from any thread.

    A charge is *reserved*, then settled once: *committed* (answered), *failed* (not answered, though private rows
    could have been read), *released* (given back: no private row was read) or *crashed* (the process ended in
    between). All but *released* count as spent, *reserved* included.

    Every method raises LedgerUnavailable when the store fails and TooManyQueries when it stays busy.
    """

    def add_analyst(self, name: str, key_hash: str, epsilon: float, delta: float) -> None:
        """Grant a new analyst a budget, rounded down.

        Args:
          name: 1 to 64 characters of letters, digits, `_`, `.`, `@`, `-`.
          key_hash: from `server.keys.key_hash`.
          epsilon, delta: the budget; epsilon above 0, delta in [0, 1).
        Raises: AnalystExists, InvalidRequest (the name), InvalidSetting (the budget).
        """
        ...

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The name of the analyst who holds the key, or None. One indexed lookup, never behind a writer."""
        ...

    def budget(self, analyst: str) -> Budget:
        """What was granted and what is left, rounded down. Raises UnknownAnalyst."""
        ...

    def reserve(self, charge: Charge) -> Reservation:
        """Take the charge from the budget; durable on return.

        Raises: BudgetExhausted (nothing is taken; the hint is the largest epsilon that fits), UnknownAnalyst,
          InvalidSetting.
        """
        ...

    def commit(self, reservation: Reservation) -> Budget:
        """The query was answered. Returns the budget afterwards. Raises LedgerInvalid when settled before."""
        ...

    def fail(self, reservation: Reservation) -> None:
        """The query was not answered, but private rows could have been read: the charge stands."""
        ...

    def release(self, reservation: Reservation) -> None:
        """Give the charge back. Only if no private row was read under it."""
        ...

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what a dead process left reserved, and return it; all of it stays charged.

        To be called at start, before the first reservation. Returns nothing while another process has the ledger
        open, because its reservations are not crashes.
        """
        ...

    def close(self) -> None:
        """Release files and locks; twice is once."""
        ...
