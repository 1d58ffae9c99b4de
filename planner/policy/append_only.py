"""A table that only grows: the custodian's promise that its rows do not change once they are some days old.

No privacy rests on it. What rests on it is that an answer about such rows is still an answer about the rows as they
are, after a new load: so it is checked at every load (`server/policy/closed_periods.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

SETTING = "append_only"


@dataclass(frozen=True)
class AppendOnly:
    """`append_only = {column = "admitted_at", closed_after_days = 7}`.

    Attributes:
      column: the date or moment of a row, read at UTC.
      closed_after_days: rows of days that lie further before a load do not change, go, or get company, from then on.
    """

    column: str
    closed_after_days: int


def read_append_only(section: TomlSection) -> AppendOnly | None:
    """The promise of a table's section; None where it makes none.

    Raises: PolicyInvalid.
    """
    if SETTING not in section.names():
        return None
    if SETTING not in section.nested():
        example = f'{SETTING} = {{column = "admitted_at", closed_after_days = 7}}'
        raise section.problem(SETTING, f"says by which column, and when: {example}")
    inner = section.section(SETTING)
    column, days = inner.text("column"), inner.count("closed_after_days")
    inner.finish()
    if days is None or days > _MOST_DAYS:
        raise inner.problem("closed_after_days", f"must be a whole number between 1 and {_MOST_DAYS}")
    return AppendOnly(column, days)


_MOST_DAYS = 36_500
