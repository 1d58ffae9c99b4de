"""`noisegate analyst`: analysts and their keys."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.failure import CommandFailed
from server.cli.terminal import Format, Output, show_one, show_rows, tell
from server.ledger.account import Accounting
from server.ledger.analyst import Role
from server.query import privacy_text

if TYPE_CHECKING:
    from planner.policy.policy import Policy
    from server.ledger.account import Grant
    from server.ledger.ledger import Ledger


_COLUMNS = ("name", "key")

_LEAST = 1e-9
"""The smallest budget, for roles that ask no questions."""


Name = Annotated[str, typer.Argument(help="The analyst's name.", metavar="NAME")]
RoleOption = Annotated[
    Role, typer.Option(help="analyst asks questions, auditor reads the ledger, admin changes permissions.")
]


def add(
    name: Annotated[str, typer.Argument(help="The analyst's name, as the ledger will have it.", metavar="NAME")],
    policy: Annotated[Path, typer.Option(help="The policy file; it says where the ledger is.")],
    epsilon: Annotated[
        float | None,
        typer.Option(help="The analyst's total budget. Left out: the policy's."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The analyst's total delta; 0 is pure differential privacy. Left out: the policy's, from "
            "[budgets.analyst] or else of one query."
        ),
    ] = None,
    role: RoleOption = "analyst",
    group: Annotated[str | None, typer.Option(help="The group whose account also pays.")] = None,
    accounting: Annotated[
        Accounting | None, typer.Option(help="How charges compose; fixed now. Left out: the policy's.")
    ] = None,
    reason: Reason = "",
    output: Output = Format.TABLE,
) -> None:
    """Add an analyst and print the new key once; the ledger stores only its hash.

    The first analyst creates the ledger. Send the key over a channel that you trust. Auditors read the ledger over
    HTTP and admins change permissions; neither asks questions, so they need no budget.

    Example:  noisegate analyst add ada --policy policy.toml --epsilon 10

    Example:  noisegate analyst add grace --policy policy.toml --role admin

    Exit codes: 0 added, 2 not added.
    """
    from server.ledger.analyst import credentials_of, new_key
    from server.ledger.terms import Terms
    from server.policy.accepted_policy import read_policy
    from server.policy.open_ledger_of_policy import ledger_name, open_or_create

    named = read_policy(policy)
    grant = _grant(named, epsilon, delta, role)
    if accounting is not None:
        grant = replace(grant, accounting=accounting)
    Terms.of(grant)  # refuses what is no budget, before a ledger is made for it
    made, first = open_or_create(named, policy)
    with closing(made) as ledger:
        if first:
            where = ledger_name(named, policy)
            tell(
                f"Created the ledger {where}. Keep it: it holds every charge, and the proxy does not start"
                f" without it."
            )
        key, why = new_key(), act(reason)
        new = credentials_of(key)
        ledger.add_analyst(name, new, grant.epsilon, grant.delta, role=role, group=group, act=why, grant=grant)
        beyond = _beyond_dataset(grant, ledger) if role == "analyst" else None
    if beyond is not None:
        tell(f"warning: {beyond}", style="yellow")
    renews = None if named.budgets.analyst is None else named.budgets.analyst.renew
    tell(f"{name} {_opens(role, grant, renews)}. The key below is shown only once:")
    show_one(_COLUMNS, (name, key), output, "", key)


def _beyond_dataset(grant: Grant, ledger: Ledger) -> str | None:
    """The warning if the dataset's account, which pays for every release, has less left than the new budget."""
    from server.ledger.account import DATASET

    dataset = next((one for one in ledger.accounts() if one.name == DATASET), None)
    if dataset is None or (grant.epsilon <= dataset.epsilon_left and grant.delta <= dataset.delta_left):
        return None
    left = privacy_text(dataset.epsilon_left, dataset.delta_left)
    return (
        f"all analysts together have {left} left, less than this budget; further questions will be refused. "
        "`noisegate admin top-up dataset` adds to it."
    )


def _grant(policy: Policy, epsilon: float | None, delta: float | None, role: Role) -> Grant:
    """The grant of a new analyst: the options, and otherwise the policy's. Other roles need no budget."""
    from server.ledger.account import Grant
    from server.policy.open_ledger_of_policy import grant_of

    if role != "analyst" and epsilon is None:
        return Grant(_LEAST, delta or 0.0)
    default = policy.budgets.analyst
    if default is not None and epsilon is None:
        made = grant_of(default)
        return made if delta is None else replace(made, delta=delta)
    if epsilon is None:
        raise CommandFailed("the budget is missing", hint="give --epsilon, or [budgets.analyst] in the policy")
    return Grant(epsilon, policy.delta_of_analyst if delta is None else delta)


def _opens(role: Role, grant: Grant, renews: str | None) -> str:
    """What the new key permits.

    Args:
      renews: how often the policy's budget renews.
    """
    if role == "analyst":
        spends = f"may spend {privacy_text(grant.epsilon, grant.delta)}"
        if grant.renew is not None:
            return f"{spends} per {grant.renew}"
        if renews is None:
            return spends
        return f"{spends} in total; without --epsilon it would be the policy's budget, which renews every {renews}"
    can = "reads the ledger and changes permissions" if role == "admin" else "reads the ledger and changes nothing"
    return f"is an {role}: {can}, on the administration page and at /v1/admin, and asks no questions"


def listed(policy: PolicyFile, output: Output = Format.TABLE) -> None:
    """List all analysts.

    Example:  noisegate analyst list --policy policy.toml
    """
    with opened(policy) as ledger:
        rows = [(one.name, one.role, one.group, one.enabled) for one in ledger.analysts()]
    show_rows(("name", "role", "group", "enabled"), rows, output)


def rotate_key(name: Name, policy: PolicyFile, reason: Reason, output: Output = Format.TABLE) -> None:
    """Give an analyst a new key and print it once. The old key is rejected from now on.

    Example:  noisegate analyst rotate-key ada --policy policy.toml --reason "the laptop was stolen"
    """
    from server.ledger.analyst import credentials_of, new_key

    key = new_key()
    with opened(policy) as ledger:
        ledger.set_credentials(name, credentials_of(key), act(reason))
    tell(f"{name}'s old key is rejected from now on. The key below is shown only once:")
    show_one(_COLUMNS, (name, key), output, "", key)


def disable(name: Name, policy: PolicyFile, reason: Reason) -> None:
    """Disable an analyst: the key is rejected. Spending stays.

    Example:  noisegate analyst disable ada --policy policy.toml --reason "left the company"
    """
    with opened(policy) as ledger:
        ledger.set_enabled(name, False, act(reason))
    tell(f"{name} is disabled.")


def enable(name: Name, policy: PolicyFile, reason: Reason) -> None:
    """Enable an analyst again, with the same key and the rest of the budget.

    Failures before count no longer: someone who was refused for too many may ask again. Look for the reason first, in
    the proxy's log: what fails could show something about a row.

    Example:  noisegate analyst enable ada --policy policy.toml --reason "came back"
    """
    with opened(policy) as ledger:
        ledger.set_enabled(name, True, act(reason))
    tell(f"{name} is enabled.")


def set_role(
    name: Name,
    role: Annotated[
        Role, typer.Argument(help="analyst asks questions, auditor reads the ledger, admin changes permissions.")
    ],
    policy: PolicyFile,
    reason: Reason,
) -> None:
    """Change the role of an analyst's key.

    Example:  noisegate analyst set-role ada auditor --policy policy.toml --reason "audits from now on"
    """
    with opened(policy) as ledger:
        ledger.set_role(name, role, act(reason))
    tell(f"{name} has the role {role}.")


def set_group(
    name: Name,
    policy: PolicyFile,
    reason: Reason,
    group: Annotated[str | None, typer.Argument(help="The group; none if left out.", metavar="[GROUP]")] = None,
) -> None:
    """Move an analyst to a group, whose account then also pays, or to none. Past charges stay in the old group.

    Example:  noisegate analyst set-group ada lab --policy policy.toml --reason "works with the lab"
    """
    with opened(policy) as ledger:
        ledger.set_group(name, group, act(reason))
    tell(f"{name} belongs to {'no group' if group is None else f'the group {group}'}.")
