"""`noisegate data`: which load of the data the kept answers are of."""

from __future__ import annotations

from pathlib import Path

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
    budget is given back: what was learned stays learned. Proxies that run notice at once; where the database is files
    they answer again after SIGHUP, which counts the keys of the new rows. Where the policy declares keys of a
    PostgreSQL, `noisegate policy check` counts them.

    Example:  noisegate data bump --policy policy.toml --reason "the load of May"
    """
    with opened(policy) as ledger:
        now = ledger.bump_data(act(reason))
    tell("The data is a new load, of version:")
    write(str(now))
    if needs_reload(policy):
        tell("Next: SIGHUP (kill -HUP) to each proxy that runs, which reads the files and counts their keys.")
        tell("Until then it answers nothing.")


def needs_reload(policy: Path) -> bool:
    """Do proxies answer nothing after a new load until they have read the policy anew? Where files are read."""
    from server.backends.custody.file_urls import CONNECT, FILE_URLS
    from server.errors import ConfigurationInvalid
    from server.policy.accepted_policy import read_policy
    from server.policy.secrets import resolve

    try:
        return resolve(read_policy(policy).database_url, policy.parent).startswith((*FILE_URLS, CONNECT))
    except ConfigurationInvalid:  # a secret that only the proxy has; the load is written already
        return False
