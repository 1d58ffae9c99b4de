"""Keys of which every value is one person's own: a group for each could show nothing."""

from __future__ import annotations

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.errors import PlannerError, SensitivityUnbounded
from planner.group_domains.key_sources import KeySources

_EACH = "a group for each row of "


def personal_table(error: PlannerError) -> str | None:
    """The table of whose rows each would be a group, where `check_shared` says so; None for another error."""
    if not isinstance(error, SensitivityUnbounded) or not error.message.startswith(_EACH):
        return None
    return error.message.removeprefix(_EACH).partition(" can show nothing")[0]


def check_shared(key: BoundKey, sources: KeySources) -> None:
    """Refuse a key that is a privacy unit's own, or that of a row of private data.

    Keys found among private rows are shown where enough privacy units share them, which none of these does, so the
    answer would be charged and empty; and values that a policy lists of them would be a list of people.

    Args:
      key: one whose values nothing public says.
      sources: of the query's keys.
    Raises: SensitivityUnbounded.
    """
    if not isinstance(key.value, exp.Column):
        return
    (column,) = key.columns
    whose = sources.person_of(column)
    if whose is not None:
        name = sources.name(column)
        message = f"{_EACH}{whose} can show nothing: {name} is one privacy unit's alone"
        hint = f"count them, count(DISTINCT {column[1]}), or group by what many of them share"
        raise SensitivityUnbounded(message, hint=hint, position=key.position)
