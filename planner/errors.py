"""What a query or a policy can get wrong. Each says what, where and what to write instead; none quotes data."""

from __future__ import annotations


class PlannerError(Exception):
    """Base of every error raised by this package.

    Attributes:
      message: what is wrong, naming the construct as the analyst wrote it.
      hint: what to write instead, or None.
      position: 1-based character offset in the statement, or None.
    """

    def __init__(self, message: str, *, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.position = position


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
