"""The command `noisegate tune`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, printable, show, show_rows, tell, write

if TYPE_CHECKING:
    from server.ledger.analyst import Act
    from server.ledger.ledger import Ledger
    from server.ledger.tuning import TuningRecord
    from server.startup.open_services import Prepared
    from server.tuning import Tuned


_COLUMNS = ("measure", "above", "up_to", "people")


def tune(
    policy: PolicyFile,
    epsilon: Annotated[
        float | None,
        typer.Option(help="The epsilon of all histograms together. Left out: show the newest tuning again, free."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="This table alone, as the policy calls it.")] = None,
    measure: Annotated[
        str | None, typer.Option(help="This alone: `rows`, or a column with a declared range.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why. It is recorded in the ledger permanently.")] = "noisegate tune",
    yes: Annotated[bool, typer.Option("--yes", help="Write the proposal into the policy; for scripts.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Measure contributions by private histograms, and propose `clip` per table.

    For each table whose rows have one owner, people are counted by their number of rows, and by the sum of each
    column with a declared range. Noise hides each person, as in every answer. Everybody may see the result, so its
    epsilon is part of every analyst's guarantee. A second tuning adds to the first.

    The policy is changed only with your consent: a terminal asks you, a script says --yes.

    Example:  noisegate tune --policy policy.toml --epsilon 1

    Example:  noisegate tune --policy policy.toml --epsilon 0.5 --table visit --measure rows

    Exit codes: 0 shown, 1 refused before anything was spent, 2 not tuned, 3 the dataset's budget is short.
    """
    from server.startup.open_services import prepare
    from server.tuning import histograms

    prepared = prepare(policy)
    with opened(policy) as ledger:
        if epsilon is None:
            record = _newest(ledger)
            found = _named(histograms(record), table, measure)
        else:
            record = _tuned(prepared, ledger, epsilon, table, measure, act(reason))
            found = histograms(record)
    if output is not Format.TABLE:
        _show_rows(found, output)
    _propose(prepared, record, found, yes=yes, shown=output is Format.TABLE)


def _tuned(
    prepared: Prepared, ledger: Ledger, epsilon: float, table: str | None, measure: str | None, by: Act
) -> TuningRecord:
    """Measure, after checking that policy and data are those in force."""
    from planner.errors import InvalidSetting, SensitivityUnbounded, UnsupportedSQL
    from privacy.entropy import OpendpEntropy
    from server.errors import BudgetExhausted
    from server.policy.accepted_policy import Change, refuse_weaker
    from server.startup.open_services import check_keys
    from server.tuning import measures
    from server.tuning import tune as count

    contract, schema, backend = prepared.file.policy, prepared.schema, prepared.backend
    refuse_weaker(Change.to(prepared.file, schema, ledger))
    try:
        chosen = measures(contract, schema, backend.dialect, table, measure, tell)
        shared = check_keys(prepared, ledger, by)
        if shared is not None:
            raise CommandFailed(shared, hint="`noisegate policy check` says how to list these rows")
        labels = [printable(f"{one.table}.{one.name}") for each in chosen for one in each.measures]
        tell(f"Measuring contributions by {', '.join(labels)}: epsilon {epsilon:g} for all together.")
        record = count(chosen, contract, schema, backend, ledger, epsilon, by, OpendpEntropy())
    except (InvalidSetting, SensitivityUnbounded, UnsupportedSQL) as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    except BudgetExhausted as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.BUDGET_EXHAUSTED) from error
    total = sum(one.epsilon for one in ledger.tunings() if one.state != "released")
    tell(f"Spent. Every analyst's guarantee includes epsilon {total:g} of tuning from now on.")
    return record


def _newest(ledger: Ledger) -> TuningRecord:
    """The newest finished tuning. Raises: CommandFailed if there is none."""
    finished = [one for one in ledger.tunings() if one.state == "committed"]
    if not finished:
        raise CommandFailed(
            "there is no tuning yet",
            hint="give an epsilon, such as --epsilon 1; it becomes part of every analyst's guarantee",
            exit_code=ExitCode.REFUSED,
        )
    return finished[-1]


def _named(found: tuple[Tuned, ...], table: str | None, measure: str | None) -> tuple[Tuned, ...]:
    """The named measures of a tuning. Raises: CommandFailed if there are none."""
    named = tuple(one for one in found if table in (None, one.table) and measure in (None, one.measure))
    if not named:
        there = ", ".join(printable(one.label) for one in found)
        raise CommandFailed(
            "the newest tuning did not measure that",
            hint=f"it measured {there}; --epsilon measures again",
            exit_code=ExitCode.REFUSED,
        )
    return named


def _show_rows(found: tuple[Tuned, ...], output: Format) -> None:
    rows: list[tuple[str | float | int | None, ...]] = []
    for one in found:
        ends = (0.0, *one.histogram.ends, None)
        rows += [(one.label, *ends[place : place + 2], count) for place, count in enumerate(one.histogram.people)]
    show_rows(_COLUMNS, rows, output)


def _propose(prepared: Prepared, record: TuningRecord, found: tuple[Tuned, ...], *, yes: bool, shown: bool) -> None:
    """Show the histograms and the proposed bounds; write them into the policy with consent."""
    from server.cli.tuning import bounds_words, difference, histogram_view, with_bounds, write_policy
    from server.tuning import histograms

    file, buckets = prepared.file, sum(len(one.histogram.people) for one in histograms(record))
    declared = {(table, name) for table, said in file.policy.tables.items() for name in said.at_most}
    proposals: dict[str, dict[str, float]] = {}
    for one in found:
        bounds = one.histogram.bounds(buckets, file.policy.epsilon)
        if shown:
            show(histogram_view(one, buckets))
            show(bounds_words(one, bounds, buckets))
        if bounds is not None and (one.table, one.measure) in declared:
            tell(f"The policy has `at_most` for {printable(one.label)}, so no `clip` is written.")
        elif bounds is not None:  # with both, an interval allows for as many people above `clip` as noise could hide
            proposals.setdefault(one.table, {})[one.measure] = bounds.clip
    if not proposals:
        return
    text = with_bounds(file.text, file.policy, proposals)
    if text == file.text:
        tell("The policy has these bounds already.")
        return
    (write if shown else tell)(difference(file.text, text, file.path.name))
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"Write this into {file.path}?", err=True)):
        tell(f"{file.path} is unchanged; `noisegate tune --policy {file.path} --yes` writes this later, free.")
        return
    write_policy(file.path, file.text, text)
    tell(f"Wrote {file.path}. A running proxy applies it at SIGHUP or a reload.")
