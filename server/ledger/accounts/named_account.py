"""Which account a custodian means: its whole name, `analyst:nina`, or the name alone, where only one has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from server.errors import UnknownAccount
from server.ledger.account import DATASET, AccountBalance, analyst_account, group_account


class Named(Protocol):
    """What knows accounts; each analyst has one, and each group."""

    def accounts(self, analyst: str | None = None) -> Sequence[AccountBalance]:
        """Every account with what it may spend, or those that pay for an analyst."""
        ...


def named_account(ledger: Named, name: str) -> str:
    """The account's whole name.

    Args:
      ledger: knows the accounts.
      name: `dataset`, which is the dataset's whoever else is called so, `analyst:NAME`, `group:NAME`, or NAME.
    Raises: UnknownAccount where nobody has the name, or an analyst as well as a group.
    """
    if name == DATASET or ":" in name:
        return name
    known = {one.name for one in ledger.accounts()}
    found = [one for one in (analyst_account(name), group_account(name)) if one in known]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownAccount(f"{name} is an analyst and a group", hint=f"write {found[0]} or {found[1]}")
    hint = f"write group:{name} to make the account of a new group" if name else None
    raise UnknownAccount(f"there is no analyst and no group {name!r}", hint=hint)
