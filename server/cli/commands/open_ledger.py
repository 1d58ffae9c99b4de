"""Open the ledger of a policy for administrators; every change has a reason."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from server.cli.terminal import tell

if TYPE_CHECKING:
    from server.ledger.analyst import Act
    from server.ledger.charge import ChargeRecord
    from server.ledger.entry import Entry
    from server.ledger.ledger import Ledger

PolicyFile = Annotated[
    Path, typer.Option("--policy", help="The policy file; it says where the ledger is.", exists=True, dir_okay=False)
]
PolicyArgument = Annotated[
    Path, typer.Argument(help="The policy file.", exists=True, dir_okay=False, metavar="POLICY")
]
Port = Annotated[int, typer.Option(help="The port for HTTP; 0 takes a free one.", min=0, max=65535)]
WirePort = Annotated[int, typer.Option(help="The port for psql and drivers; 0 takes a free one.", min=0, max=65535)]
Wire = Annotated[bool, typer.Option(help="Serve psql and drivers.")]
Reason = Annotated[str, typer.Option(help="Why. It is recorded in the ledger permanently.")]
After = Annotated[int, typer.Option(help="The last number of the previous page.", min=0)]
Limit = Annotated[int, typer.Option(help="How many rows at most.", min=1, max=1_000_000)]

_PAGE = 1000


_Numbered = TypeVar("_Numbered", "ChargeRecord", "Entry")


@contextmanager
def opened(policy: Path) -> Iterator[Ledger]:
    """Open the ledger of a policy. Raises: LedgerMissing and other ledger errors, PolicyInvalid."""
    from server.policy.accepted_policy import read_policy
    from server.policy.open_ledger_of_policy import open_policy_ledger

    with closing(open_policy_ledger(read_policy(policy), policy)) as ledger:
        yield ledger


def act(reason: str) -> Act:
    """An act of the user of this shell."""
    from server.ledger.analyst import Act

    return Act(f"cli:{user() or 'unknown'}", reason)


def paged(read: Callable[..., Sequence[_Numbered]], after: int, limit: int) -> Iterator[_Numbered]:
    """List entries or charges after a number, at most `limit`, page by page."""
    while limit > 0:
        page = read(after=after, limit=min(limit, _PAGE))
        yield from page
        if len(page) < min(limit, _PAGE):
            return
        after = page[-1].number
        limit -= _PAGE


def tell_of_more(shown: int, limit: int, last: int) -> None:
    """Say how to see what comes after a full list."""
    if 0 < limit <= shown:
        tell(f"These are {shown:,}; there may be more: --after {last}, or --limit for more at once.")


def moment(milliseconds: int | None) -> str | None:
    """A time in UTC as text."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def user() -> str | None:
    """The user of this shell; None for a container's user without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None
