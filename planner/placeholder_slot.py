"""What is found out of one `$n` while a statement is bound before its values are known."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.positions import position_of
from planner.sql_types import Family, SqlType

_SAMPLES = {
    Family.DATE: "2000-01-01",
    Family.TIMESTAMP: "2000-01-01 00:00:00",
    Family.TIMESTAMPTZ: "2000-01-01 00:00:00",
    Family.UUID: "00000000-0000-0000-0000-000000000000",
    Family.TEXT: "a",
    Family.CHAR: "a",
}
SLOT = "slot"
"""The key of a node's meta that holds its slot."""


class Slot:
    """The types that the places of one placeholder ask for; copies of a tree share it."""

    def __init__(self) -> None:
        self.types: list[SqlType] = []

    def __deepcopy__(self, memo: object) -> Slot:
        return self


def sample(node: exp.Parameter, kind: SqlType) -> exp.Expr:
    """Some literal of the type that a placeholder's place asks for, which is noted.

    Raises: UnsupportedSQL when the statement is to be answered: its values should have been bound before.
    """
    slot = node.meta.get(SLOT)
    if not isinstance(slot, Slot):
        hint = "send the values with the statement"
        raise UnsupportedSQL("a placeholder has no value", hint=hint, position=position_of(node))
    slot.types.append(kind)
    if kind.is_number:
        return exp.Literal.number(1)
    if kind.family is Family.BOOL:
        return exp.true()
    return exp.Literal.string(kind.labels[0] if kind.labels else _SAMPLES.get(kind.family, "a"))
