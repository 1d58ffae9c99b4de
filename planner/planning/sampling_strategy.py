"""Which join tuples are read when an analyst asks for a sample, and why that is a sample of the join.

Sampling happens where each join tuple is drawn on its own, with a fresh secret that no statement can name:

* in PostgreSQL by TABLESAMPLE BERNOULLI, whose 32-bit seed is drawn anew for each scan;
* in the proxy, from the operating system, after the database has counted equal tuples;
* in the proxy, by number, where the join is acyclic and nobody makes it.

The last, in full. Let T be the tuples of the parts' join, and P those that also pass the comparisons between parts:
the tuples of the question. `privacy.sampling.join_tree` is a bijection from 0..|T|-1 onto T, which depends on the
data, and `privacy.sampling.bernoulli` makes each number stay with probability q, independently, whatever |T| is. So
each t of T stays with probability q, independently of all others: a product distribution names no order of its
factors. Those in P are therefore a Bernoulli sample of P, at rate q. Where a unit leaves, T' and P' are T and P
without the tuples that it owns (privacy.md section 1), so the sample of P' has the distribution of that of P with the
unit's tuples taken out, of which there are Binomial(its tuples, q). That is the coupling on which the joint loss
rests (`privacy.sampling.design`), and with it amplification: the same as where the proxy thins counted tuples.

Two other ways were weighed and are not taken. `random() < q` over the join is right but forbids parallel plans. A
hash of row identifiers with a secret seed is parallel, but hashint8extended is no cryptographic function: tuples
that share a row have related hashes, so that neither independence nor amplification could be claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.errors import InvalidSetting, UnsupportedSQL
from planner.plan import Plan, Release, SampledTree, SamplingPlan
from planner.rules.count_tuples import is_constant
from planner.rules.sample_rows import bernoulli_percent
from planner.sensitivity.join_steps import JoinSteps

MIN_RATE = 1e-6
"""Below it PostgreSQL's 32 bits are too coarse, and nothing would be left of most answers."""

_CHARGE = "the whole epsilon is charged"
_AMPLIFIES = f"{_CHARGE}, and where fan-outs bound a person's tuples, amplification buys less noise for it"


def sampling_plan(
    query: BoundQuery, join_steps: JoinSteps, releases: Sequence[Release], sampling_rate: float | None
) -> SamplingPlan | None:
    """Choose a strategy by proof.

    Args:
      query: what was asked; its entries may carry the analyst's own TABLESAMPLE.
      join_steps: how its rows follow from one another.
      releases: what is released.
      sampling_rate: q in [1e-6, 1], or None; 1 reads everything.
    Returns: the strategy, None to read everything.
    Raises: InvalidSetting for a rate out of range or given twice; UnsupportedSQL for what cannot be sampled.
    """
    written = [entry for entry in query.tables if entry.sample is not None]
    rate = _rate(written, sampling_rate)
    if rate is None:
        return None
    if any(release.ranked is not None for release in releases):
        hint = "ask for it without sampling"
        message = "quantiles, MIN and MAX of a sample are not supported"
        raise UnsupportedSQL(message, hint=hint, position=written[0].start if written else None)
    if any(release.distinct is not None for release in releases):
        hint = "ask for it without sampling: how many values a sample misses cannot be told"
        message = "COUNT(DISTINCT ...) of a sample is not supported"
        raise UnsupportedSQL(message, hint=hint, position=written[0].start if written else None)
    entries = [entry for entry in query.tables if _determines(entry, join_steps)]
    if written:
        return _pushdown(written[0], rate) if written[0] in entries else _as_written(written[0], rate)
    if entries:
        return _pushdown(entries[0], rate)
    return _in_the_proxy(rate, all(is_constant(release.weight) for release in releases))


def along_a_tree(plan: Plan, tree: SampledTree | None) -> Plan:
    """The plan with its sample drawn along a join tree, where it would be drawn among all tuples otherwise.

    A linear join of one owner is left to the database, which adds up person by person and lets few rows leave; any
    other has about as many distinct tuples as tuples, all of which the database would make and the proxy would read.

    Args:
      plan: finished.
      tree: of its join, if there is one.
    """
    sampling = plan.sampling
    if tree is None or sampling is None or sampling.alias is not None:
        return plan
    if plan.size.kind == "linear" and len(plan.owners) == 1:
        return plan
    reason = (
        "the join is a tree of tables: the database reads each by itself, the proxy numbers the tuples by how "
        f"many rows meet and makes none but those that it draws, each on its own; {_AMPLIFIES}"
    )
    return replace(plan, tree=tree, sampling=replace(sampling, strategy="join tree", reason=reason))


def _rate(written: Sequence[BoundTable], asked: float | None) -> float | None:
    """The one rate that is asked for; None to read everything."""
    if len(written) > 1:
        raise UnsupportedSQL("TABLESAMPLE on several tables", hint="sample one table", position=written[1].start)
    if written and asked is not None:
        raise InvalidSetting("the sample is given twice", hint="leave out TABLESAMPLE or the sampling rate")
    if written and written[0].outer is not None:
        hint = "sample the table on its left"
        message = "TABLESAMPLE on the right of a LEFT JOIN is not supported"
        raise UnsupportedSQL(message, hint=hint, position=written[0].start)
    rate = written[0].sample if written else asked
    if rate is None:
        return None
    if not math.isfinite(rate) or not MIN_RATE <= rate <= 1:
        raise InvalidSetting(f"the sampling rate must be between {MIN_RATE:g} and 1 (100 percent)")
    return None if rate == 1 else rate


def _determines(entry: BoundTable, join_steps: JoinSteps) -> bool:
    """Does each row of the entry lead to at most one join tuple, by enforced keys alone?

    If its table stands nowhere else either, a sample of its rows is a sample of the tuples (privacy.md section 3). A
    view, which no database samples, is none.
    """
    once = sum(table == entry.table for table in join_steps.tables) == 1
    there = entry.outer is None and entry.sampled and once
    return there and join_steps.determined_by(entry.alias) == join_steps.all_rows()


def _pushdown(entry: BoundTable, rate: float) -> SamplingPlan:
    reason = (
        f"rows of {entry.table.name} are sampled by TABLESAMPLE BERNOULLI: each join tuple holds one of them and "
        "follows from it by enforced keys, so tuples are drawn one by one, as far as the database's 32-bit seed "
        f"and hash are random; {_AMPLIFIES}"
    )
    percent, exact = bernoulli_percent(rate)
    return SamplingPlan("pushdown", exact, entry.table.name, entry.alias, percent, True, reason)


def _as_written(entry: BoundTable, rate: float) -> SamplingPlan:
    reason = (
        f"rows of {entry.table.name} are sampled as written, but one of them may stand in many join tuples, which "
        f"are then drawn together: no amplification can be claimed; {_CHARGE}"
    )
    percent, exact = bernoulli_percent(rate)
    return SamplingPlan("as written", exact, entry.table.name, entry.alias, percent, False, reason)


def _in_the_proxy(rate: float, counts: bool) -> SamplingPlan:
    """No relation determines the join tuples: the database counts equal ones, the proxy draws."""
    why = "no table's rows determine the join tuples by enforced keys: the database counts equal tuples, the proxy"
    if counts:
        reason = f"{why} draws how many of them stay; {_AMPLIFIES}"
        return SamplingPlan("thinning", rate, None, None, None, True, reason)
    reason = f"{why} draws how many of them stay, those of different weights apart; {_AMPLIFIES}"
    return SamplingPlan("join result", rate, None, None, None, True, reason)
