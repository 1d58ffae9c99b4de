"""The errors of queries and policies, and suggestions for misspelled names.

Each error says what is wrong, where, and what to write instead. None quotes data. Names of the schema are public to
every analyst, so a hint may contain them.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands that ask a server wait for no parser
    from sqlglot import exp

_MOST_NAMES = 2_000
_LONGEST = 63


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return a hint with the likeliest name, or None. Cost: one comparison per name.

    >>> did_you_mean("custmer", ["customer", "orders"]), did_you_mean("Ward", ["ward"]), did_you_mean("x", ["ward"])
    ('did you mean customer?', 'did you mean ward?', None)
    """
    known = nearest(name, names)
    if known is None:
        return None
    plain = known == known.lower() and known.isidentifier() and known.isascii()
    return f"did you mean {known}?" if plain else f'did you mean "{known}"?'


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the likeliest of the names, or None. Cost: one comparison per name.

    >>> nearest("epsilon", ["epsilom", "delta"]), nearest("epsilon", [])
    ('epsilom', None)
    """
    by_lower_case: dict[str, str] = {}
    for known in sorted(names)[:_MOST_NAMES]:
        by_lower_case.setdefault(known.lower(), known)
    found = get_close_matches(name.lower()[:_LONGEST], by_lower_case, n=1)
    return by_lower_case[found[0]] if found else None


class PlannerError(Exception):
    """Base class of the errors of this package.

    Attributes:
      message: what is wrong, naming the construct as the analyst wrote it.
      hint: what to write instead, or None.
      position: 1-based character offset in the statement, or None; by default that of the node `at`.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, position: int | None = None, at: exp.Expr | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        notes = [] if at is None else [part._meta or {} for part in at.walk()]
        starts = [note["start"] for note in notes if "start" in note]
        self.position = min(starts) + 1 if starts else position


class InvalidSyntax(PlannerError):
    """The text is not one SQL statement."""


class StatementTooLong(PlannerError):
    """The text is longer than MAX_LENGTH."""


class StatementTooComplex(PlannerError):
    """The statement nests deeper, or joins more, than the proxy plans."""


class ReadOnly(PlannerError):
    """The statement would write."""


class UnknownTable(PlannerError):
    """No such table, or none that may be queried; the message does not distinguish these."""


class UnknownColumn(PlannerError):
    """No such column in the tables of the query."""


class AmbiguousColumn(PlannerError):
    """Several tables of the query have the column name."""


class UnsupportedSQL(PlannerError):
    """SQL without a sound rewriting, or without one yet."""


class RowsNotShown(UnsupportedSQL):
    """A SELECT without an aggregate would show private rows, or groups without numbers."""


class NoRowAsked(RowsNotShown):
    """As RowsNotShown, but a condition or LIMIT 0 leaves no row: a tool asks for the columns."""


class UnreadableValue(InvalidSyntax):
    """A quoted value that does not have its type."""


class UnreadableMoment(InvalidSyntax):
    """A quoted date or time that cannot be read."""


class UndefinedOperator(UnsupportedSQL):
    """Two types that no operator compares."""


class AmbiguousFunction(UnsupportedSQL):
    """A call that several functions of one name fit."""


class InvalidSetting(PlannerError):
    """An epsilon, delta or mechanism that is not possible."""


class SensitivityUnbounded(PlannerError):
    """The policy lacks a range, a domain or an ownership that protection needs."""


class PolicyInvalid(PlannerError):
    """The policy contradicts itself or the catalog; only the administrator sees this."""


class SchemaChanged(PlannerError):
    """The catalog has changed since the plan was made."""


class FilesChanged(SchemaChanged):
    """The database's files have changed since their rows were checked."""
