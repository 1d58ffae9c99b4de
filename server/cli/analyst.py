"""`noisegate analyst add`: give a person a key and a budget."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from server.cli.answer_view import privacy_text
from server.cli.terminal import tell, write


def add(
    name: Annotated[str, typer.Argument(help="The analyst's name, as the ledger will have it.", metavar="NAME")],
    policy: Annotated[Path, typer.Option(help="The policy file; it says where the ledger is.")],
    epsilon: Annotated[float, typer.Option(help="The analyst's whole budget; every answer takes from it.")],
    delta: Annotated[float, typer.Option(help="The analyst's whole delta; 0 is pure differential privacy.")] = 0.0,
) -> None:
    """Add an analyst and print the new key, once: only its hash is kept.

    The first analyst creates the ledger. Give the key to the analyst over a channel that you trust.

    Example:  noisegate analyst add ada --policy policy.toml --epsilon 10

    Exit codes: 0 added, 2 not added.
    """
    from server.keys import key_hash, new_key
    from server.ledger.amounts import granted_delta, granted_epsilon
    from server.ledger.open_ledger import create_ledger, open_ledger
    from server.services import ledger_paths, read_policy

    granted_epsilon(epsilon)  # refuses what is no budget, before a ledger is made for it
    granted_delta(delta)
    path, marker = ledger_paths(read_policy(policy), policy)
    first = not path.exists()  # create_ledger refuses when the marker knows one that is gone
    with closing(create_ledger(path, marker) if first else open_ledger(path, marker)) as ledger:
        if first:
            tell(
                f"Created the ledger {path}. Keep it: it holds every charge, and the proxy does not start without it."
            )
        key = new_key()
        ledger.add_analyst(name, key_hash(key), epsilon, delta)
    tell(f"{name} may spend {privacy_text(epsilon, delta)}. The key below is shown this once:")
    write(key)
