"""Open the ledger that a policy names: a file, or a database that several proxies share."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from planner.policy.policy import Policy
from planner.policy.sections import BudgetPolicy
from server.errors import LedgerMissing
from server.ledger.account import DATASET, Accounting, Grant, Renewal
from server.ledger.analyst import Act
from server.ledger.high_water_mark import read_marker
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger, open_ledger
from server.policy.secrets import resolve


def marker_of(policy_path: Path) -> Path:
    """The file beside the policy that records which ledger exists."""
    return policy_path.with_suffix(".ledger.json")


def ledger_paths(policy: Policy, policy_path: Path) -> tuple[Path, Path]:
    """The ledger's file and its marker."""
    return policy_path.parent / policy.ledger_path, marker_of(policy_path)


def ledger_name(policy: Policy, policy_path: Path) -> str:
    """The ledger for a person: the file, or the reference to the database; never a secret."""
    if policy.ledger_is_shared:
        return f"in the database of {policy.ledger_path}"
    return str(policy_path.parent / policy.ledger_path)


def open_policy_ledger(policy: Policy, policy_path: Path, *, new: bool = False) -> Ledger:
    """Open the ledger of a policy, or make a new one.

    Raises: LedgerMissing, LedgerInvalid, LedgerUnavailable, TooManyQueries; ConfigurationInvalid for a secret that is
      not set.
    """
    if not policy.ledger_is_shared:
        return (create_ledger if new else open_ledger)(*ledger_paths(policy, policy_path))
    from server.ledger.postgres import create_postgres_ledger, open_postgres_ledger

    url = resolve(policy.ledger_path, policy_path.parent)
    return (create_postgres_ledger if new else open_postgres_ledger)(url, marker_of(policy_path))


def open_or_create(policy: Policy, policy_path: Path) -> tuple[Ledger, bool]:
    """Open the ledger of a policy, or make one if there never was one; was it made?

    Raises: as `open_policy_ledger`; LedgerMissing only for a ledger that has disappeared.
    """
    try:
        return open_policy_ledger(policy, policy_path), False
    except LedgerMissing:
        if read_marker(marker_of(policy_path)) is not None:
            raise
    ledger = open_policy_ledger(policy, policy_path, new=True)
    if policy.budgets.dataset is not None:
        ledger.grant(DATASET, grant_of(policy.budgets.dataset), Act("policy", "the policy's budget for the dataset"))
    return ledger, True


def grant_of(budget: BudgetPolicy) -> Grant:
    """A default budget as the ledger's grant."""
    window_s = None if budget.window_days is None else round(budget.window_days * 86_400)
    return Grant(
        budget.epsilon,
        budget.delta,
        cast("Accounting", budget.accounting),
        budget.event_delta,
        window_s,
        budget.per_query_epsilon,
        cast("Renewal | None", budget.renew),
        budget.most_in_total,
    )
