"""The public size of a whole question's join, and the refusal of one that may become larger than a policy allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.binding.bound_query import BoundQuery
from planner.errors import UnsupportedSQL
from planner.plan import SIZE_CLASSES, JoinSize
from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.join_size import join_size
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.own_rows import with_rows_there
from planner.sensitivity.provenance import Provenance, provenance


def whole_size(
    bound: BoundQuery, found: Provenance, connected: JoinSteps, schema: Schema, policy: Policy
) -> JoinSize:
    """The size of the join; where rows are optional or asked for by a semi-join, the class of the join with them.

    A database finds no more matches than that join has, so it takes no longer for any person than the class says;
    what the tuples number is the question's own.

    Args:
      bound, found, connected: the question, its provenance and the steps of its join.
      schema, policy: the catalog, and what the custodian declares.
    Raises: as `planner.sensitivity.provenance.provenance`.
    """
    size = join_size(bound, found, connected, schema, policy)
    if not bound.semi_joins and not any(entry.optional for entry in bound.tables):
        return size
    sizes = []
    for joined in with_rows_there(bound):
        owners = provenance(joined, schema, policy)
        sizes.append(join_size(joined, owners, JoinSteps(joined, owners, policy), schema, policy))
    worst = max(sizes, key=lambda one: (SIZE_CLASSES.index(one.kind), one.free_steps))
    explodes = any(one.explodes for one in sizes if one.kind != "linear")
    return replace(size, kind=worst.kind, free_steps=worst.free_steps, apart=worst.apart, explodes=explodes)


def check_join_size(size: JoinSize, bound: BoundQuery, schema: Schema, policy: Policy) -> None:
    """Refuse a join that may become larger than the policy allows.

    Args:
      size: of the join.
      bound: the question, for the places of its tables.
      schema, policy: the catalog, and the policy that limits joins.
    Raises: UnsupportedSQL.
    """
    settings = policy.side_channels
    if size.apart is not None and not settings.unbounded_joins:
        refusal = _apart(*size.apart, schema, policy)
        starts = [entry.start for entry in bound.tables if entry.start and entry.table.name in size.apart]
        refusal.position = max(starts, default=None)
        raise refusal
    if settings.max_join_tuples is None:
        return
    if size.most_tuples is None:
        tables = ", ".join(size.undeclared)
        hint = f"the custodian may declare the rows of {tables}"
        message = "the policy limits the rows of a join, and does not say how many those of this one may be"
        raise UnsupportedSQL(message, hint=hint)
    if size.most_tuples > settings.max_join_tuples:
        message = f"the join may have {size.most_tuples:,} rows, more than the policy's {settings.max_join_tuples:,}"
        raise UnsupportedSQL(message, hint="join less, or along keys; what WHERE leaves out does not count")


def _apart(first: str, second: str, schema: Schema, policy: Policy) -> UnsupportedSQL:
    """The refusal of a join in which two tables multiply each other's rows."""
    why = "one person's rows can make such a join run long, and how long it takes would tell any fact about them"
    if policy.is_public(first) and policy.is_public(second):
        hint = (
            f"join one of them along its key; the custodian may declare how many `rows` {first} and {second} have, "
            "or allow `unbounded_joins`"
        )
        return UnsupportedSQL(f"{first} and {second} both multiply the rows of the join: {why}", hint=hint)
    named = f"two rows of {first}" if first == second else f"{first} and {second}"
    ways = [*_references(first, second, schema, policy), *_references(second, first, schema, policy)]
    along = f"on all columns of a foreign key: {'; '.join(dict.fromkeys(ways))}" if ways else "along foreign keys"
    hint = f"join them {along}; or ask the custodian, whose policy may allow `unbounded_joins`"
    return UnsupportedSQL(f"no key connects {named}: {why}", hint=hint)


def _references(child: str, parent: str, schema: Schema, policy: Policy) -> Iterator[str]:
    """The foreign keys of one table to another, in words."""
    for key in ownership(schema, policy).foreign_keys(child):
        if key.references == parent:
            yield f"{child} ({', '.join(key.columns)}) references {parent} ({', '.join(key.key)})"


def larger(one: JoinSize, other: JoinSize) -> JoinSize:
    """The class of the larger of two joins, one of which is made for the other; the number of tuples of the first.

    >>> larger(JoinSize("linear", most_tuples=7), JoinSize("equi_joined", 1)).kind
    'equi_joined'
    """
    worst = max(one, other, key=lambda size: (SIZE_CLASSES.index(size.kind), size.free_steps))
    explodes = any(size.explodes for size in (one, other) if size.kind != "linear")
    return replace(one, kind=worst.kind, free_steps=worst.free_steps, apart=worst.apart, explodes=explodes)
