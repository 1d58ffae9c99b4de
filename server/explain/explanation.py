"""The explanation of a query from public facts only: no row count, no estimate, no observed range."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.plan import BackendQuery, Centre, Plan
from planner.released_expression import Apply, ReleasedExpression, ReleasedValue, within_no_range
from planner.rewriting.join_tables import semi_join_condition
from planner.rewriting.rewrite import to_sql
from planner.sensitivity.provenance import Completion, OwnerPosition, Provenance
from planner.sql.trees import copied, replaced
from privacy.mechanisms.sums import GroupsOfKinds
from server.explain.mechanism_reasons import groups_reason, release_mechanisms, sampling_advice, selection_rule
from server.query import Explanation, JoinCondition, JoinedTable, ResultColumn
from server.results.evaluate import releases_used
from server.workers.measure import Measuring


def joined_tables(bound: BoundQuery, found: Provenance) -> tuple[JoinedTable, ...]:
    """The tables in the order of FROM, then those that completion adds."""
    asked = [
        JoinedTable(entry.alias, entry.table.name, "inner" if entry.outer is None else "left", added=False)
        for entry in bound.tables
    ]
    added = [JoinedTable(one.alias, one.table.name, "left", added=True) for one in found.completions]
    return (*asked, *added)


def join_conditions(bound: BoundQuery, found: Provenance) -> tuple[JoinCondition, ...]:
    """The conditions of ON, USING and WHERE, then those of completion."""
    asked = [*bound.predicates, *(condition for entry in bound.tables for condition in entry.outer or ())]
    asked += [semi_join_condition(semi_join) for semi_join in bound.semi_joins]
    added = [condition for completion in found.completions for condition in _completing(completion)]
    return (
        *(JoinCondition(to_sql(condition), added=False) for condition in asked),
        *(JoinCondition(condition, added=True) for condition in added),
    )


def ownership_paths(found: Provenance) -> tuple[str, ...]:
    """Per owner, the foreign keys that lead from a row of the query to the unit's key."""
    completions = {completion.alias: completion for completion in found.completions}
    return tuple(_path(owner, found, completions) for owner in found.owners)


def _completing(completion: Completion) -> Iterator[str]:
    """The join with the parent, and the condition that drops rows without one."""
    pairs = zip(completion.key.columns, completion.key.key, strict=True)
    yield " AND ".join(f"{_name(completion.child, name)} = {_name(completion.alias, above)}" for name, above in pairs)
    exists = f"{_name(completion.alias, completion.key.key[0])} IS NOT NULL"
    absent = [f"{_name(completion.child, name)} IS NULL" for name in completion.nullable]
    yield " OR ".join([*absent, exists])


def _path(owner: OwnerPosition, found: Provenance, completions: dict[str, Completion]) -> str:
    alias = owner.columns[0][0]
    columns = ", ".join(name for _, name in owner.columns)
    own = found.equalities.tables[alias].name == owner.relation
    steps = [f"{columns} is its key" if own else f"{columns} references {owner.relation}"]
    while alias in completions:
        completion = completions[alias]
        steps.append(f"{', '.join(completion.key.columns)} references {alias}")
        alias = completion.child
    path = f"{alias}: {', '.join(reversed(steps))}"
    return f"{path}, where the row belongs to nobody above it" if owner.orphan_of else path


def _name(alias: str, column: str) -> str:
    return to_sql(exp.column(column, table=alias, quoted=True))


_ROUNDING = 1 + 1e-5  # budgets are searched for to within a millionth


def explanation(
    bound: BoundQuery,
    found: Provenance,
    plan: Plan,
    query: BackendQuery,
    measuring: Measuring,
    n_groups: int,
    whole: Measuring | None = None,
    kinds: GroupsOfKinds = (),
) -> Explanation:
    """Explain a plan.

    Args:
      bound, found: what the plan was made from, and the owners of its join tuples.
      measuring: the measurements. Expected noise is a function of the clipping threshold tau, since the chosen
        threshold depends on private data.
      n_groups: how many public groups there are. If one unit may reach all of them, they share its epsilon. With
        partition selection it is not used; without a bound on the groups per unit, the explanation is about one
        group.
      kinds: how many public groups the units of each relation reach, if that differs; `measuring` knows it then, too.
      whole: the measurements of all join tuples, for advice about sampling; None: no advice.
    """
    partition_selection = bool(query.discovered)
    reached = plan.bounds.groups or 1 if partition_selection else n_groups
    bound_of_unit = plan.bounds.groups if partition_selection else _at_most(plan.bounds.groups, n_groups)
    if not partition_selection and kinds and max(own for _, own in kinds) < n_groups:
        bound_of_unit = min(max(own for _, own in kinds), bound_of_unit or n_groups)
    return replace(
        _asked(bound, found, plan, None if partition_selection else n_groups),
        rewritten_sql=";\n\n".join(_statements(query)),
        tuples_per_unit=plan.bounds.tuples,
        groups_per_unit=bound_of_unit,
        groups_reason=groups_reason(plan, reached, kinds),
        selection=selection_rule(plan, measuring, reached),
        mechanism=plan.mechanism if plan.releases else "none",
        reason=" ".join([plan.reason, *_of_quotients(plan, measuring, reached), *plan.notes]),
        mechanisms=release_mechanisms(plan, measuring, reached),
        weight_bounds=tuple((release.label, release.most) for release in plan.releases if release.ranked is None),
        expected_noise=tuple(_noise(plan, measuring, reached)),
        sampling=plan.sampling.reason if plan.sampling else None,
        sampling_rate=plan.sampling.rate if plan.sampling else None,
        sampling_advice=tuple(sampling_advice(plan, measuring.releases, whole.releases if whole else (), reached)),
        epsilon_if_fanouts_fail=_epsilon_if_fanouts_fail(plan, measuring, reached),
        epsilon=plan.epsilon,
        delta=plan.delta,
    )


def nothing_measured(
    bound: BoundQuery, found: Provenance, plan: Plan, n_groups: int, *, no_group: bool
) -> Explanation:
    """Explain a question that shows no row, so that nothing is read or charged.

    Args:
      bound, found, plan, n_groups: as in `explanation`.
      no_group: the public list of groups is empty; otherwise no row is asked for.
    """
    why = "there is no group" if no_group else "the answer shows no row"
    known = None if any(domain.selects_partitions for domain in plan.domains) else n_groups
    reason = f"Nothing is released, because {why}. No private row is read."
    return replace(_asked(bound, found, plan, known), reason=reason)


def _asked(bound: BoundQuery, found: Provenance, plan: Plan, n_groups: int | None) -> Explanation:
    """The facts that do not depend on releases."""
    return Explanation(
        rewritten_sql="",
        privacy_units=tuple(dict.fromkeys(owner.relation for owner in plan.owners)),
        owners=tuple(f"{owner.relation}: {owner.key.sql('postgres')}" for owner in plan.owners),
        ownership=ownership_paths(found),
        tables=joined_tables(bound, found),
        conditions=join_conditions(bound, found),
        n_groups=n_groups,
        group_sources=tuple(_group_source(plan, bound, index) for index in range(len(plan.group_keys))),
        reason="",
        columns=tuple(ResultColumn(output.name, output.type) for output in plan.display.outputs),
    )


def _at_most(groups_per_unit: int | None, n_groups: int) -> int | None:
    """L0, but at most the number of public groups."""
    return None if groups_per_unit is None else min(groups_per_unit, max(1, n_groups))


def _statements(query: BackendQuery) -> Iterator[str]:
    """Every statement that would read private rows."""
    joined = query.join if query.contributions is None else query.contributions
    if joined is not None:
        yield joined
    yield from query.parts
    counted = query.distinct_contributions or (None,) * len(query.distinct)
    for values, contributions in zip(query.distinct, counted, strict=True):
        if values is not None:
            yield values if contributions is None else contributions


def _noise(plan: Plan, measuring: Measuring, n_groups: int) -> Iterator[tuple[str, tuple[tuple[float, float], ...]]]:
    """Per sum or count, (tau, half-width at 95%) in the answer's unit; for a sample, of the scaled-up value."""
    rate = plan.sampling.rate if plan.sampling else 1.0
    for release, measured in zip(plan.releases, measuring.releases, strict=True):
        if release.ranked is not None or isinstance(release.around, Centre):
            continue  # that of a rank is in ranks (`release_mechanisms`), and what a centre leaves is measured
        unit = release.weight_bound / rate
        yield release.label, tuple((unit * tau, unit * half) for tau, half in measured.expected_noise(n_groups))


def _is_centre(value: ReleasedExpression, plan: Plan) -> bool:
    return isinstance(value, ReleasedValue) and isinstance(plan.releases[value.release].around, Centre)


_ROWS, _EACH = 10_000, 10
"""The example for the error of a quotient."""


def _of_quotients(plan: Plan, measuring: Measuring, n_groups: int) -> Iterator[str]:
    """The relative error of averages, which the noise of their sums does not show.

    The relative error of S / n is at most that of S plus that of n. If nobody has more than b of n rows, with values
    near the mean, the sum's noise is its noise at a threshold of b times the mean, and the count's its noise at b.
    Around a centre, with values that differ by as much as the mean, it is the noise of the deviations alone.
    """
    rate = plan.sampling.rate if plan.sampling else 1.0
    for output in plan.display.outputs:
        value = within_no_range(output.expression)
        used = sorted(releases_used(value))
        if isinstance(value, Apply) and value.operator == "+" and _is_centre(value.arguments[0], plan):
            (_, value), used = value.arguments, [one for one in used if plan.releases[one].around is not None]
        ranked = any(plan.releases[place].ranked is not None for place in used)
        if not isinstance(value, Apply) or value.operator != "/" or len(used) < 2 or ranked:
            continue
        noise = [measuring.releases[place].expected_noise(n_groups)[0] for place in used]  # 0 of a centre
        times = math.fsum(half / tau for tau, half in noise) / rate
        part = f"{100 * times * _EACH / _ROWS:.2g}%"
        yield (
            f"Expect {output.name} within {part} of its value, 95% of the time, over {_ROWS:,} rows of which nobody "
            f"has more than {_EACH}. The error grows with the most rows of one person and falls with the number of "
            "rows."
        )


def _epsilon_if_fanouts_fail(plan: Plan, measuring: Measuring, n_groups: int) -> float | None:
    """g(infinity) of all releases; None if no release depends on declared fan-outs."""
    if plan.sampling is None or not plan.sampling.amplifies or plan.release_delta:
        return None
    worst = math.fsum(measured.epsilon_if_bound_fails(n_groups) for measured in measuring.releases)
    worst += 0.0 if plan.selection is None else plan.selection.epsilon
    return worst if worst > plan.epsilon * _ROUNDING else None


def _shortened(node: exp.Expr) -> exp.Expr | None:
    """The first of many listed values, and how many there are; None for anything else."""
    listed = node.expressions if isinstance(node, exp.Values) else []
    if len(listed) <= _LISTED:
        return None
    more = exp.var(f"... {len(listed):,} values")
    return exp.Values(expressions=[*map(copied, listed[:_LISTED]), more], alias=copied(node.args["alias"]))


_LISTED = 20


def _group_source(plan: Plan, bound: BoundQuery, index: int) -> tuple[str, str]:
    """A key's SQL, the source of its groups, and which rows fall into none."""
    domain = next(one for one in plan.domains if index in one.keys)
    if domain.values is not None:
        source = domain.why.format(n=len(domain.values))
    elif domain.statement is None:
        source = domain.why
    elif index == domain.keys[0]:
        source = f"{domain.why}: {to_sql(replaced(domain.statement, _shortened))}"
    else:
        source = f"{domain.why}, together with {bound.keys[domain.keys[0]].value.sql('postgres')}"
    note = plan.group_keys[index].omitted
    return bound.keys[index].value.sql("postgres"), source if note is None else f"{source}. {note}"
