"""`noisegate demo`: what the proxy does, shown on generated data, with nothing to set up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

_HOME = "NOISEGATE_HOME"


def demo(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where the demonstration keeps its database, ledger and key; below .noisegate here, unless named.",
            file_okay=False,
        ),
    ] = None,
    leave: Annotated[bool, typer.Option("--exit", help="Leave after the answers instead of staying up.")] = False,
) -> None:
    """Load TPC-H behind a proxy on this machine, ask it, and show the true values beside the noisy answers.

    PostgreSQL and the data's generator come with the extra `noisegate[embedded]`. All files are in one folder, which
    you can delete afterwards.

    Example:  noisegate demo --exit

    Exit codes: 0 shown, 2 could not start.
    """
    from server.demo.demonstration import demonstrate  # the database and the proxy's parts: no other command waits

    home = Path(os.environ.get(_HOME, ".noisegate")) / "demo"
    demonstrate(folder or home, stay=not leave)
