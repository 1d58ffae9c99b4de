"""Group keys whose values only the private rows know; the custodian has opened their columns to discovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery
from planner.expressions.scalar import wrap
from planner.group_domains.key_sources import KeySources
from planner.plan import GroupDomain
from planner.policy.policy import ColumnPolicy, Policy
from planner.sql.columns import bound_column
from planner.sql.result_types import is_discoverable
from planner.sql.trees import copied

_WHY = "found among the private rows: shown where enough privacy units share it, at the price of a delta"


def discovered_domain(place: int, key: BoundKey, sources: KeySources) -> GroupDomain | None:
    """The domain of a key that the policy lets be found; None where it does not.

    Every private column that the key is computed from must be open to discovery. What a public row holds is known.
    """
    private = [column for column in key.columns if sources.rows(column[0]) is None]
    opened = bool(private) and all(sources.declared(column).discover for column in private)
    return GroupDomain((place,), None, None, _WHY) if opened and is_discoverable(key.type) else None


def keys_found(query: BoundQuery, domains: Sequence[GroupDomain], policy: Policy) -> Iterator[exp.Expr]:
    """The condition of each discovered key: it is not NULL, unless the policy makes NULL a group of its columns."""
    for place in (place for domain in domains if domain.is_discovered for place in domain.keys):
        key = query.keys[place]
        if not any(_declared(column, query, policy).null_group for column in key.columns):
            yield exp.Is(this=wrap(copied(key.value)), expression=exp.Null(), negate=True)


def _declared(column: tuple[str, str], query: BoundQuery, policy: Policy) -> ColumnPolicy:
    return policy.column(query.table_of(bound_column(*column)).table.name, column[1])
