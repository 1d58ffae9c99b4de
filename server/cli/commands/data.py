"""`noisegate data`: which load of the data the kept answers are of."""

from __future__ import annotations

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.output.terminal import tell, write


def version(policy: PolicyFile) -> None:
    """Print the version of the data.

    Example:  noisegate data version --policy policy.toml
    """
    with opened(policy) as ledger:
        write(str(ledger.data_version()))


def bump(policy: PolicyFile, reason: Reason) -> None:
    """Say that the data is a new load.

    From now on every question is measured, and charged, anew; kept answers to the old data are served no more. No
    budget is given back: what was learned stays learned. Proxies that run notice at once.

    Example:  noisegate data bump --policy policy.toml --reason "the load of May"
    """
    with opened(policy) as ledger:
        now = ledger.bump_data(act(reason))
    tell("The data is a new load, of version:")
    write(str(now))
