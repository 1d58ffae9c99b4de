"""Turn a bound query into a Plan: who owns a tuple, what it weighs, which groups there are, what it costs.

A question without aggregates lists groups, or counts the rows of an answer whose number is public. Dashboards ask
this way to fill their filters. Declared values and steps of a range are named free of charge, whether or not anybody
is in a group. Keys that private rows or public tables hold are selected, as if COUNT(*) stood beside them: the list
is charged, and names the groups that enough people share. Without a delta, public tables name all their keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate, BoundQuery
from planner.errors import InvalidSetting, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.group_domains.group_domains import check_size, group_domains
from planner.group_domains.key_sources import keys_found
from planner.plan import AnswerTimes, GroupDomain, JoinSize, Plan, SamplingPlan, UnitBounds
from planner.planning.answer_times import answer_times, check_row_work, least_epsilon
from planner.planning.contribution_bounds import (
    CLIPPING,
    check_at_most,
    contribution_bounds,
    not_used_by,
)
from planner.planning.mechanism_choice import (
    CENTRED,
    SIGNED,
    Circumstances,
    MechanismChoice,
    choose_mechanism,
    granted_delta,
    group_selection,
    is_selected,
)
from planner.planning.person_tables import with_person_tables
from planner.planning.releases import Releases, beyond_notes, clamped_notes, equal_share, releases, with_units_beyond
from planner.planning.sampling import along_a_tree, sampled_tree, sampling_plan
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.released_expression import ReleasedExpression, as_measured, substitute
from planner.rewriting.compact_tuples import sample_rows
from planner.rewriting.join_tables import complete_provenance, filter_semi_joins, join_tables
from planner.rewriting.read_nan_as_null import nan_notes, text_notes
from planner.schema import Schema
from planner.sensitivity.groups_per_unit import (
    groups_per_kind,
    groups_per_unit,
    is_owned,
    limited_groups_per_unit,
)
from planner.sensitivity.join_size import check_join_size, whole_size
from planner.sensitivity.join_steps import JoinSteps, are_lone
from planner.sensitivity.own_rows import check_owner_joins, left_out, partial_joins, rows_without_owner, with_own_rows
from planner.sensitivity.provenance import Provenance, owner_sql, provenance
from planner.sensitivity.tuples_per_unit import tuples_per_unit
from planner.sql.trees import ColumnRef
from privacy.registry import MECHANISMS

_REASON = "Nothing is released: the possible groups are public, and no private row is read."
_COUNTED_PUBLICLY = "Nothing is released: the number of rows of this answer is public, and no private row is read."


_ROWS = BoundAggregate("count", None, None, "count(*)")


def list_groups(bound: BoundQuery, schema: Schema, policy: Policy, delta: float) -> Plan | None:
    """The plan of a question without aggregates: no release and no charge; None if its keys are selected.

    Without group keys it is one row of constants. Raises: as `group_domains`.
    """
    assert not bound.aggregates, "the others are planned"
    equalities = provenance(bound, schema, policy).equalities
    keys, domains = group_domains(bound, schema, policy, equalities, delta, lists=True)
    if any(domain.selects_partitions for domain in domains):
        return None
    plan = Plan(
        source=exp.Select(),
        owners=(),
        releases=(),
        group_keys=keys,
        domains=domains,
        display=bound.display,
        epsilon=0.0,
        delta=0.0,
        mechanism="gem",
        reason=_REASON if bound.keys else _COUNTED_PUBLICLY,
        fingerprint=schema.fingerprint,
        policy_hash=policy.hash,
        relied_on="",
    )
    check_size(plan.domains, plan.columns)
    return plan


_COUNTED = "The database adds up contributions, and no unit's key leaves it."


def make_plan(
    bound: BoundQuery,
    schema: Schema,
    policy: Policy,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: str | None = None,
    sampling_rate: float | None = None,
    at_most: float | None = None,
) -> Plan:
    """Decide everything about a query before any private row is read. A few milliseconds for TPC-H Q5.

    Args:
      bound: from `planner.binding.bind.bind` with the same schema and policy, which `planner.policy.validate`
        accepts.
      epsilon: the charge, from MIN_EPSILON to policy.max_epsilon; None: the policy's default.
      delta: the most to charge, 0 or from MIN_DELTA to policy.delta; None: the policy's. It is charged by mechanisms
        of approximate differential privacy and by partition selection.
      mechanism: one of `privacy.registry.OFFERED`; None: the planner's choice.
      sampling_rate: q in [1e-6, 1], to answer from a sample of the join tuples; None and 1 read them all.
      at_most: X > 0, the declared bound on one unit. Contributions are clipped there, so no privacy rests on it.
    Raises: InvalidSetting, SensitivityUnbounded, UnsupportedSQL, StatementTooComplex.
    """
    try:
        said = at_most
        return _plan(bound, schema, policy, epsilon, delta, mechanism, sampling_rate, said)
    except (SensitivityUnbounded, StatementTooComplex, UnsupportedSQL) as refusal:
        if refusal.position is None:  # of the join as a whole: its first table
            refusal.position = min((entry.start for entry in bound.tables if entry.start), default=None)
        raise


def _plan(
    bound: BoundQuery,
    schema: Schema,
    policy: Policy,
    epsilon: float | None,
    delta: float | None,
    mechanism: str | None,
    sampling_rate: float | None,
    at_most: float | None,
) -> Plan:
    catalog, contract = schema, policy
    relied_on = policy.relied_on(ownership(schema, policy).owners(bound.relations))
    persons = with_person_tables(bound, schema, policy)
    bound, schema, policy = persons.query, persons.schema, persons.policy
    lists = not bound.aggregates
    if lists:
        named = list_groups(bound, schema, policy, granted_delta(delta, policy))
        if named is not None:
            return replace(named, fingerprint=catalog.fingerprint, policy_hash=contract.hash, relied_on=relied_on)
        bound = replace(bound, aggregates=(_ROWS,))
    bound, kept = with_own_rows(bound, schema, policy)
    found = provenance(bound, schema, policy)
    check_owner_joins(bound, found)
    connected = JoinSteps(bound, found, policy)
    check_row_work(bound)
    size = persons.size(whole_size(bound, found, connected, schema, policy))
    check_join_size(size, bound, schema, policy)
    charge = _epsilon(epsilon, size, policy)
    times = answer_times(size, policy.side_channels, charge)
    granted = granted_delta(delta, policy)

    def reached(columns: Sequence[ColumnRef]) -> int | None:
        return groups_per_unit(found.owners, columns, found.equalities)

    keys, domains = group_domains(bound, schema, policy, found.equalities, granted, lists=lists)
    selected = is_selected(domains, policy)
    one_unit = partial(is_owned, owners=found.owners, equalities=found.equalities, query=bound)
    one_value = partial(releases, bound, charge, lambda columns: reached(columns) == 1, found.equalities.tables)
    share_out = partial(one_value, owned=one_unit, beside=selected)
    released = share_out()
    sampling = sampling_plan(bound, connected, released.releases, sampling_rate)
    tuples = tuples_per_unit(bound, found, connected, schema, policy)
    bounds = contribution_bounds(
        bound,
        connected,
        policy,
        owners=len(found.owners),
        sampled=sampling is not None,
        asked=at_most,
        tuples_per_unit=tuples,
    )
    declared = [one.bound for one in bounds.on(released).releases if one.bound is not None]
    capped = bool(declared) and all(one.chosen for one in declared)
    determined = reached([column for key in bound.keys for column in key.columns])
    if at_most is not None:
        check_at_most(at_most, released, sampling)
    limited = limited_groups_per_unit(determined, found.owners, domains, policy)
    selects_partitions = any(domain.selects_partitions for domain in domains)
    circumstances = Circumstances(
        question=bound,
        releases=released.releases,
        owners=len(found.owners),
        bounds=replace(limited, tuples=tuples, assumed=at_most),
        sampled=sampling is not None,
        delta=equal_share(granted, 1 + selects_partitions),
        jointly=released.jointly,
        contributions=bool(declared),
        capped=capped,
        n_groups=_listed(domains),
    )
    choice = choose_mechanism(mechanism, policy, circumstances)
    if choice.mechanism in SIGNED and len(found.owners) == 1 and sampling is None:
        released = share_out(signed=True, centred=choice.mechanism == CENTRED)
    unused = bounds.unused
    if choice.mechanism in CLIPPING or (capped and choice.mechanism == "l2_clip"):  # no L2 norm exceeds the L1 norm
        released = bounds.on(released, choice.mechanism)
    elif declared:
        unused = not_used_by(choice.mechanism)

    def shown(expression: ReleasedExpression) -> ReleasedExpression:
        return substitute(as_measured(expression, released.centres), released.values)

    part = equal_share(granted, max(1, selects_partitions + choice.approximate))
    selection = group_selection(domains, determined, policy, released.share, part, shared=not found.at_most_one_owner)
    if MECHANISMS[choice.mechanism].bounds_vector and (selection is None or selects_partitions):
        limited = UnitBounds(determined)  # these bound a unit in all groups together, so no rule leaves rows out
    apart = MECHANISMS[choice.mechanism].by_kind and limited.rule is None and sampling is None
    columns = [key.columns for key in bound.keys]
    kinds = groups_per_kind(found.owners, columns, found.equalities) if apart else ()
    asked = with_units_beyond(released.releases, domains, len(found.owners), limited.groups)
    plan = Plan(
        source=_source(bound, found, sampling, domains, policy),
        owners=tuple(owner_sql(owner, found.equalities) for owner in found.owners),
        releases=asked,
        group_keys=keys,
        domains=domains,
        display=bound.display.rewritten(shown),
        epsilon=charge,
        delta=granted if selects_partitions or choice.approximate else 0.0,
        mechanism=choice.mechanism,
        reason=" ".join(filter(None, [_reason(choice, circumstances, released, selected) + _held(times), unused])),
        fingerprint=catalog.fingerprint,
        policy_hash=contract.hash,
        relied_on=relied_on,
        bounds=replace(limited, kinds=kinds, tuples=tuples, assumed=at_most),
        sampling=sampling,
        selection=selection,
        release_delta=part if choice.approximate else 0.0,
        size=size,
        times=times,
        notes=(
            *dict.fromkeys((*persons.notes, *kept)),
            *rows_without_owner(bound, found),
            *left_out(bound),
            *partial_joins(bound, found.equalities, policy),
            *clamped_notes(bound, policy),
            *beyond_notes(asked, len(found.owners)),
            *nan_notes(bound),
            *text_notes(bound, policy),
        ),
        lone=are_lone(bound, found, connected),
    )
    check_size(plan.domains, plan.columns)
    if sampling is not None:
        plan = along_a_tree(plan, sampled_tree(bound, found, plan, policy))
    summed = selection is not None or any(release.is_sum for release in asked)
    values = [release for release in asked if not release.is_sum]
    counted = (plan.counts_contributions or not summed) and all(map(plan.counts_contributions_of, values))
    return replace(plan, reason=f"{plan.reason} {_COUNTED}") if counted else plan


def _source(
    bound: BoundQuery,
    found: Provenance,
    sampling: SamplingPlan | None,
    domains: Sequence[GroupDomain],
    policy: Policy,
) -> exp.Select:
    conditions = [*bound.predicates, *keys_found(bound, domains, policy)]
    source = complete_provenance(join_tables(bound.tables, conditions), found.completions, found.ends)
    source = filter_semi_joins(source, bound.semi_joins) if bound.semi_joins else source
    if sampling is None or sampling.alias is None or sampling.percent is None:
        return source
    return sample_rows(source, sampling.alias, sampling.percent)


def _listed(domains: Sequence[GroupDomain]) -> int | None:
    """The number of groups if the plan lists them; None otherwise."""
    listed = [domain.values for domain in domains]
    return None if None in listed else math.prod(len(values) for values in listed if values is not None)


def _epsilon(epsilon: float | None, size: JoinSize, policy: Policy) -> float:
    value = policy.epsilon if epsilon is None else epsilon
    least = least_epsilon(size, policy.side_channels, policy.max_epsilon)
    if not math.isfinite(value) or not least <= value <= policy.max_epsilon:
        hint = "the policy's max_epsilon is the limit" if value > policy.max_epsilon else None
        if policy.side_channels.min_epsilon <= value < least:
            hint = "the duration of this join depends on the data, which costs epsilon; a declared `fanout` avoids it"
        bounds = f"at least {least:g} and at most {policy.max_epsilon:g}"
        raise InvalidSetting(f"epsilon must be {bounds} for one query", hint=hint)
    return float(value)


def _held(times: AnswerTimes) -> str:
    if not times.first_s:
        return ""
    said = " Its duration depends on the data, so the answer leaves"
    if times.first_s == times.last_s:
        when = f"{times.first_s:g} seconds after the question began, or it fails then"
    else:
        moments = ", ".join(f"{times.first_s * 2**place:g}" for place in range(3))
        until = "" if math.isinf(times.last_s) else f" up to {times.last_s:g}"
        when = f"{moments}, ...{until} seconds after the question began"
    more = (
        ""
        if math.isinf(times.last_s)
        else " More epsilon allows more moments; a declared fan-out makes them unnecessary."
    )
    return f"{said} {when}.{more}"


def _reason(choice: MechanismChoice, known: Circumstances, released: Releases, selected: bool) -> str:
    count = len(released.releases) + selected
    share = "the whole epsilon" if count == 1 else f"epsilon / {count}"
    if len({one.epsilon for one in released.releases}) > 1:
        share = "a share of epsilon by its need"
    share += "" if known.one_group else " for all groups of a unit together"
    people = "one privacy unit" if known.owners == 1 else f"up to {known.owners} privacy units"
    groups = 1 if not known.grouped else known.bounds.groups
    number = "any number of groups" if groups is None else "one group" if groups == 1 else f"at most {groups} groups"
    why = f"{choice.mechanism}, {choice.why}. A tuple belongs to {people}, and a unit reaches {number}"
    return f"{why}. Each release has {share}{', and they share the delta' if choice.approximate else ''}."
