"""What a query or a policy can get wrong, and names that look like one that is not there.

Each error says what, where and what to write instead; none quotes data. Names of the schema are public to whoever may
ask, so a hint may say them.
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
    """A hint with the likeliest name, or None. Cost: one comparison per name, for a statement that is refused.

    >>> did_you_mean("custmer", ["customer", "orders"]), did_you_mean("Ward", ["ward"]), did_you_mean("x", ["ward"])
    ('did you mean customer?', 'did you mean ward?', None)
    """
    known = nearest(name, names)
    if known is None:
        return None
    plain = known == known.lower() and known.isidentifier() and known.isascii()
    return f"did you mean {known}?" if plain else f'did you mean "{known}"?'


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The likeliest of the names, or None where none looks like it. Cost: one comparison per name.

    >>> nearest("epsilon", ["epsilom", "delta"]), nearest("epsilon", [])
    ('epsilom', None)
    """
    by_lower_case: dict[str, str] = {}
    for known in sorted(names)[:_MOST_NAMES]:
        by_lower_case.setdefault(known.lower(), known)
    found = get_close_matches(name.lower()[:_LONGEST], by_lower_case, n=1)
    return by_lower_case[found[0]] if found else None


class PlannerError(Exception):
    """Base of every error raised by this package.

    Attributes:
      message: what is wrong, naming the construct as the analyst wrote it.
      hint: what to write instead, or None.
      position: 1-based character offset in the statement, or None; that of `at`, where a node is given.
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
    """The text is longer than the proxy reads."""


class StatementTooComplex(PlannerError):
    """Nested deeper, or joining more, than the proxy plans."""


class ReadOnly(PlannerError):
    """A statement that would write."""


class UnknownTable(PlannerError):
    """No such table, or none that the policy lets anybody query; the two are not told apart."""


class UnknownColumn(PlannerError):
    """No such column in the tables of the query."""


class AmbiguousColumn(PlannerError):
    """A column name that several tables of the query have."""


class UnsupportedSQL(PlannerError):
    """SQL that has no sound rewriting, or none yet."""


class RowsNotShown(UnsupportedSQL):
    """A SELECT over private tables that would show their rows, or groups without a number: it has no aggregate."""


class NoRowAsked(RowsNotShown):
    """The same, of which a condition or LIMIT 0 leaves no row: a tool asks for the columns."""


class UnreadableValue(InvalidSyntax):
    """A quoted value that its type cannot be read from."""


class UnreadableMoment(InvalidSyntax):
    """A quoted date or time that cannot be read."""


class UndefinedOperator(UnsupportedSQL):
    """Two types that no operator compares."""


class AmbiguousFunction(UnsupportedSQL):
    """A call that several functions of one name fit."""


class InvalidSetting(PlannerError):
    """An epsilon, delta or mechanism that cannot be."""


class SensitivityUnbounded(PlannerError):
    """The policy lacks a range, a domain or an ownership that the answer's protection needs."""


class PolicyInvalid(PlannerError):
    """The policy contradicts itself or the catalog; only the custodian sees this."""


class SchemaChanged(PlannerError):
    """The catalog is no longer the one the plan was made for."""


class FilesChanged(SchemaChanged):
    """The files that are the database are in another state than the one whose rows were checked."""
