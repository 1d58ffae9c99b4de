"""`noisegate admin`: accounts, charges, and the log of administrators' acts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import typer

from planner.policy.sections import UNLIMITED
from server.cli.commands.open_ledger import (
    After,
    Limit,
    PolicyFile,
    Reason,
    act,
    moment,
    opened,
    paged,
    tell_of_more,
)
from server.cli.terminal import Format, Output, printable, show_rows, tell, write
from server.ledger.account import (
    GRANT_WORDS,
    UNSAID,
    AccountBalance,
    Accounting,
    GrantChange,
    analyst_account,
    guarantee,
    is_low,
)
from server.query import privacy_text

_ACCOUNTS = (
    "account", "epsilon", "epsilon_left", "delta", "delta_left", "accounting", "epsilon_left_basic", "window_s",
    "renews", "per_query_epsilon", "protects",
)  # fmt: skip
_CHARGES = (
    "number", "analyst", "epsilon", "delta", "state", "reserved", "mechanism", "repeats", "request_id", "accounts",
)  # fmt: skip

Account = Annotated[
    str,
    typer.Argument(
        help="dataset, or the NAME of an analyst or a group; analyst:NAME or group:NAME where both have it.",
        metavar="ACCOUNT",
    ),
]


def _part(name: str, **more: Any) -> Any:
    """The option of a part of a grant that may keep its value."""
    return typer.Option(help=GRANT_WORDS[name] + UNSAID, **more)


Epsilon = Annotated[float, typer.Option(help="The epsilon.")]
Delta = Annotated[float, typer.Option(help="The delta.")]


def accounts(
    policy: PolicyFile,
    analyst: Annotated[str | None, typer.Option(help="Only the accounts that pay for this analyst.")] = None,
    low: Annotated[bool, typer.Option("--low", help="Only accounts with at most a tenth left.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Show all accounts: budget, what is left, and the guarantee per period and in total.

    Example:  noisegate admin accounts --policy policy.toml

    Example:  noisegate admin accounts --policy policy.toml --low
    """
    with opened(policy) as ledger:
        balances = [one for one in ledger.accounts(_analyst(analyst)) if not low or is_low(one)]
        administrators = {analyst_account(one.name) for one in ledger.analysts() if one.role != "analyst"}
    if low:
        balances = [one for one in balances if one.name not in administrators]
    none = "-" if output is Format.TABLE else None
    rows = [
        (one.name, *((none,) * (len(_ACCOUNTS) - 2)), "no budget: it asks no questions")
        if one.name in administrators
        else (
            one.name,
            one.grant.epsilon,
            one.epsilon_left,
            one.grant.delta,
            one.delta_left,
            one.grant.accounting,
            None if one.basic is None else one.basic.epsilon_left,
            one.grant.window_s,
            moment(one.renews_at_ms),
            one.grant.per_query_epsilon,
            guarantee(one),
        )
        for one in balances
    ]
    if output is not Format.TABLE:
        show_rows(_ACCOUNTS, rows, output)
        return
    show_rows(_ACCOUNTS[:-1], [row[:-1] for row in rows], output)  # sentences would make a table of no use
    for row in rows:
        if row[0] not in administrators:
            write(f"Guarantee of {printable(str(row[0]))}: {row[-1]}")


def grant(
    account: Account,
    policy: PolicyFile,
    epsilon: Epsilon,
    reason: Reason,
    delta: Annotated[float | None, _part("delta")] = None,
    accounting: Annotated[Accounting | None, _part("accounting")] = None,
    event_delta: Annotated[float | None, _part("event_delta")] = None,
    window_days: Annotated[float | None, _part("window", min=0.001)] = None,
    per_query_epsilon: Annotated[str | None, _part("per_query_epsilon", metavar="EPSILON")] = None,
    renew: Annotated[Literal["day", "week", "month", "quarter", "year", "never"] | None, _part("renew")] = None,
    most_in_total: Annotated[str | None, _part("most_in_total", metavar="EPSILON")] = None,
) -> None:
    """Set the grant of an account. Spending stays, and options that are left out keep their values.

    So a budget that renews continues to renew with a new --epsilon, unless --renew never ends it. The accounts of
    groups and the dataset are created by this command. The dataset pays for every release, whoever asks.

    Example:  noisegate admin grant dataset --epsilon 100 --policy policy.toml --reason "what the board allows"

    Example:  noisegate admin grant analyst:ada --epsilon 10 --renew month --most-in-total 60 --policy policy.toml
    --reason "a report each month, for half a year"
    """
    from server.policy.accepted_policy import read_policy

    window_s = None if window_days is None else round(window_days * 86_400)
    if window_s is not None:
        tell(
            "warning: with windows nothing bounds the total over time: k windows are k budgets",
            style="yellow",
        )
    change = GrantChange(
        epsilon,
        delta,
        accounting,
        event_delta,
        window_s,
        _or_unlimited(per_query_epsilon, "--per-query-epsilon"),
        renew,
        _or_unlimited(most_in_total, "--most-in-total"),
    )
    usual = read_policy(policy).delta_of_analyst
    with opened(policy) as ledger:
        _tell_of(ledger.change_grant(account, change, usual, act(reason)))


def _analyst(name: str | None) -> str | None:
    """An analyst's name, also from the name of the account."""
    return None if name is None else name.removeprefix("analyst:")


def _or_unlimited(text: str | None, option: str) -> float | None:
    """Parse an epsilon or `unlimited`. Raises: BadParameter."""
    if text is None or text == UNLIMITED:
        return None if text is None else math.inf
    try:
        most = float(text)
    except ValueError:
        most = math.nan
    if not (math.isfinite(most) and most > 0):
        raise typer.BadParameter(f"must be a number above 0, or {UNLIMITED}", param_hint=option)
    return most


def top_up(account: Account, policy: PolicyFile, reason: Reason, epsilon: Epsilon = 0.0, delta: Delta = 0.0) -> None:
    """Add to the grant of an account.

    Example:  noisegate admin top-up ada --epsilon 2 --policy policy.toml --reason "the study goes on"

    Example:  noisegate admin top-up analyst:ada --delta 1e-6 --policy policy.toml --reason "for partition selection"
    """
    with opened(policy) as ledger:
        _tell_of(ledger.top_up(account, epsilon, delta, act(reason)))


def _tell_of(now: AccountBalance) -> None:
    """Report the new balance of an account."""
    left = privacy_text(now.epsilon_left, now.delta_left)
    may = "may spend" if now.overspent is None else "may spend nothing more. Its guarantee:"
    tell(f"{now.name} {may} {guarantee(now)}; {left} is left.")


def charges(
    policy: PolicyFile,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's.")] = None,
    after: After = 0,
    limit: Limit = 100,
    output: Output = Format.TABLE,
) -> None:
    """List charges in order.

    Example:  noisegate admin charges --policy policy.toml --analyst ada --format csv
    """
    with opened(policy) as ledger:
        rows = [
            (
                one.number,
                one.charge.analyst,
                one.charge.epsilon,
                one.charge.delta,
                one.state,
                moment(one.shown_reserved_at_ms),
                one.charge.mechanism,
                one.charge.repeats,
                one.charge.request_id,
                " ".join(one.accounts),
            )
            for one in paged(partial(ledger.charges, _analyst(analyst)), after, limit)
        ]
    show_rows(_CHARGES, rows, output)
    tell_of_more(len(rows), limit, rows[-1][0] if rows else after)


def log(policy: PolicyFile, after: After = 0, limit: Limit = 100, output: Output = Format.TABLE) -> None:
    """Show the acts of administrators: who, when, what and why.

    Example:  noisegate admin log --policy policy.toml
    """
    rows: list[tuple[str | int, ...]] = []
    with opened(policy) as ledger:
        for one in paged(partial(ledger.entries, acts_only=True), after, limit):
            said = dict(one.content)
            by, reason = str(said.pop("by", "")), str(said.pop("reason", ""))
            what = json.dumps(dict(_in_units(said)), ensure_ascii=False)
            rows.append((one.number, moment(one.shown_at_ms) or "", one.kind, by, reason, what))
    show_rows(("number", "at", "kind", "by", "reason", "what"), rows, output)
    tell_of_more(len(rows), limit, int(rows[-1][0]) if rows else after)


def _in_units(said: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The whole numbers of an entry, with the names and units of options."""
    from server.ledger.currency import delta_of, epsilon_of  # a heavy import

    units: Mapping[str, tuple[str, Callable[[int], float]]] = {
        "nano_epsilon": ("epsilon", epsilon_of),
        "atto_delta": ("delta", delta_of),
        "event_atto": ("event_delta", delta_of),
        "nano_cap": ("per_query_epsilon", epsilon_of),
        "most_nano": ("most_in_total", epsilon_of),
        "most_atto": ("most_delta_in_total", delta_of),
        "window_ms": ("window_s", lambda ms: ms / 1000),
    }
    for name, value in said.items():
        known = units.get(name)
        if known is None:
            yield name, value
        elif isinstance(value, int):  # an amount that is not set needs no word
            yield known[0], known[1](value)
