"""A new load of the data: its version, and which closed periods are as they were at the load before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner.policy.declared_keys import with_declared_keys
from planner.policy.policy import Policy
from server.backends.custody.custody import Custody
from server.backends.custody.open_custody import open_policy_custody
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.policy.closed_periods import Compared, LoadPrints, Reopen, compared, noted_load, promises, read_prints
from server.policy.periods_key import periods_key
from server.policy.secrets import resolve

_NO_TIMEOUT_MS = 0  # reading all rows takes as long as the tables are large

_NOTHING = Compared((), 0, incomparable=True)


@dataclass(frozen=True)
class Bumped:
    """What has become of a load.

    Attributes:
      version: of the data; None: the load was not written, for what has changed was not called reopened.
      found: what the comparison says; None where the policy calls no table append-only.
      noted: was it written which periods are closed? Not where somebody else wrote a load in between.
    """

    version: int | None
    found: Compared | None = None
    noted: bool = False


def bump_load(
    contract: Policy,
    policy_path: Path,
    ledger: Ledger,
    act: Act,
    reopen: Reopen | None = None,
    at: datetime | None = None,
) -> Bumped:
    """Say that the data is a new load, and since when its closed periods are what they are.

    Args:
      contract, policy_path: the policy, and where it is.
      ledger: its own.
      act: who does it, and why.
      reopen: the custodian's word on closed periods that have changed (`server.policy.closed_periods`).
      at: when the load was there, which says what is closed; None: now.
    Raises: BackendUnavailable, BackendFailed, ConfigurationInvalid, LedgerUnavailable; nothing is written then.
    Cost: as `read_prints`, where a table is append-only.
    """
    if not promises(contract):
        return Bumped(ledger.bump_data(act))
    before, noted, key = ledger.data_version(), ledger.noted_periods(), periods_key(policy_path)
    prints = _prints(contract, policy_path, at)
    found = compared(prints, noted, key)
    if found.changed and reopen is None:
        return Bumped(None, found)
    version = ledger.bump_data(act)
    if version != before + 1:
        return Bumped(version, found)
    return Bumped(version, found, ledger.note_periods(noted_load(prints, noted, found, version, key, reopen, act)))


def note_first(contract: Policy, policy_path: Path, ledger: Ledger, act: Act, at: datetime | None = None) -> bool:
    """Note what is closed in a version of which nothing is noted: answers count from this version on.

    It hangs on no row. What was noted of earlier versions is not gone on from, for whether anything has changed since
    is for a load to ask.

    Args:
      contract, policy_path: which tables only grow, and where the key of their digests is.
      ledger: where it is noted.
      act: whose act it is.
      at: when the load was; None for now.
    Returns: is it noted now, and was not before?
    Raises: BackendUnavailable, BackendFailed, ConfigurationInvalid, LedgerUnavailable.
    """
    version, noted = ledger.data_version(), ledger.noted_periods()
    if not promises(contract) or (noted is not None and noted.version == version):
        return False
    prints, key = _prints(contract, policy_path, at), periods_key(policy_path)
    return ledger.note_periods(noted_load(prints, None, _NOTHING, version, key, None, act))


def compare_load(contract: Policy, policy_path: Path, custody: Custody, ledger: Ledger) -> Compared | None:
    """What has changed of closed periods since the load that was last noted; None where there is nothing to compare.

    For the custodian's eyes.

    Args:
      contract, policy_path: as of `note_first`.
      custody: reads the rows.
      ledger: has what was noted last.
    Raises: as `note_first`.
    """
    noted = ledger.noted_periods()
    if noted is None or not promises(contract):
        return None
    return compared(_read(contract, custody, None), noted, periods_key(policy_path))


def _prints(contract: Policy, policy_path: Path, at: datetime | None) -> LoadPrints:
    url, now = resolve(contract.database_url, policy_path.parent), datetime.now(UTC)  # before the snapshot
    with open_policy_custody(contract, url, _NO_TIMEOUT_MS) as custody:
        return _read(contract, custody, at or now)


def _read(contract: Policy, custody: Custody, at: datetime | None) -> LoadPrints:
    schema = custody.schema(contract.namespaces).declaring(contract.tables)
    return read_prints(custody, with_declared_keys(schema, contract), contract, at or datetime.now(UTC))
