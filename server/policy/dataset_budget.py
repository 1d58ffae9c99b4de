"""Differences between the policy's budgets and the ledger's, and accounts with less delta than one query needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.policy.policy import Policy
from planner.policy.validate import delta_uses, partition_selected_columns
from server.ledger.account import DATASET, UNLIMITED, AccountBalance, Grant, analyst_account
from server.ledger.analyst import Analyst
from server.ledger.terms import Terms
from server.policy.open_ledger_of_policy import grant_of
from server.policy.verified_keys import Finding


def missing_deltas(
    policy: Policy, accounts: Iterable[AccountBalance], analysts: Iterable[Analyst]
) -> Iterator[Finding]:
    """A warning for each paying account with less delta than one query may need."""
    idle = {analyst_account(one.name) for one in analysts if one.role != "analyst" or not one.enabled}
    for account in accounts:
        if account.name not in idle and account.grant.delta < policy.delta:
            granted = f"has a delta of {account.grant.delta:g}, and one query may need {policy.delta:g}"
            refused = f"questions that ask for it are refused, {delta_uses(partition_selected_columns(policy))}"
            yield Finding(
                "warning", account.name, f"{granted}: {refused}; `noisegate admin top-up --delta` adds to it"
            )


def dataset_budget(policy: Policy, accounts: Iterable[AccountBalance]) -> Finding | None:
    """A warning if `[budgets.dataset]` differs from the account, or there is no such account."""
    if policy.budgets.dataset is None:
        return None
    said = grant_of(policy.budgets.dataset)
    account = next((one for one in accounts if one.name == DATASET), None)
    there = None if account is None else account.grant
    if there is not None and Terms.of(there) == Terms.of(said):
        return None
    stands = (
        "there is no such account, so nothing bounds what all analysts learn together"
        if there is None
        else f"the account has {_words(there)}"
    )
    options = f"noisegate admin grant dataset {_options(said, there)} --policy FILE --reason WHY; or "
    if account is not None and account.spent_epsilon >= said.epsilon:
        options = f"epsilon {account.spent_epsilon:g} is spent, so that budget would refuse every question: "
    return Finding(
        "warning",
        DATASET,
        f"{stands}; [budgets.dataset] has {_words(said)}, which applies only to a new ledger",
        next_step=f"{options}write into the policy what the account has",
    )


def _words(grant: Grant) -> str:
    parts = [f"epsilon {grant.epsilon:g}"]
    if grant.delta:
        parts.append(f"delta {grant.delta:g}")
    if grant.accounting != "basic":
        parts.append(grant.accounting)
    if grant.renew is not None:
        parts.append(f"per {grant.renew}, at most {_or_unlimited(grant.most_in_total)} in total")
    if grant.window_s is not None:
        parts.append(f"per {grant.window_s / 86_400:g} days")
    if grant.per_query_epsilon is not None:
        parts.append(f"at most {grant.per_query_epsilon:g} a question")
    return ", ".join(parts)


def _options(said: Grant, there: Grant | None) -> str:
    """The options of `admin grant` that give an account the policy's budget."""
    before = Grant(0.0) if there is None else there
    options = [f"--epsilon {said.epsilon:g}", f"--delta {said.delta:g}"]
    if there is None and said.accounting != "basic":
        options.append(f"--accounting {said.accounting}")
    if said.event_delta != before.event_delta:
        options.append(f"--event-delta {said.event_delta:g}")
    if said.renew is not None:
        options.append(f"--renew {said.renew} --most-in-total {_or_unlimited(said.most_in_total)}")
    elif said.window_s is not None:
        options.append(f"--window-days {said.window_s / 86_400:g}")
    elif before.renew is not None or before.window_s is not None:
        options.append("--renew never")
    if said.per_query_epsilon != before.per_query_epsilon:
        options.append(f"--per-query-epsilon {_or_unlimited(said.per_query_epsilon)}")
    return " ".join(options)


def _or_unlimited(epsilon: float | None) -> str:
    return "unlimited" if epsilon is None or epsilon == UNLIMITED else f"{epsilon:g}"
