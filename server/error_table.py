"""The table from error class to SQLSTATE, HTTP status, and the text for clients.

Errors that are written for clients show their own message and hint. All others show the fixed sentence of their row:
texts of a database, a solver or Python may quote a private value, so they never leave the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planner import errors as planning
from privacy import errors as privacy
from server import errors as serving


@dataclass(frozen=True)
class Problem:
    """An error as clients see it, in every protocol.

    Attributes:
      code: the SQLSTATE.
      message: what is wrong, one or two sentences.
      hint: what to do, or None.
      position: 1-based character offset in the statement, or None.
      status: the HTTP status.
    """

    code: str
    message: str
    hint: str | None
    position: int | None
    status: int


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
      code: the SQLSTATE; PD001 to PD006 are Noisegate's own.
      status: the HTTP status.
      sentence: replaces the error's message and hint; None: these are written for clients.
      hint: belongs to `sentence`.
      uncharged: add that nothing was charged, unless earlier parts of the statement were.
    """

    code: str
    status: int
    sentence: str | None = None
    hint: str | None = None
    uncharged: bool = False


_FAILED = Row(
    "XX000",
    500,
    "The proxy failed at this request.",
    "Report the request id to the administrator, who finds it in the log.",
)
_NOT_READY = Row("F0000", 500, "The proxy is not configured.", "Tell the administrator.")
_LEDGER = Row(
    "58030",
    503,
    "The budget ledger cannot be used, so nothing is answered.",
    "Tell the administrator.",
    uncharged=True,
)
_UNSETTLED = Row(
    "58030",
    503,
    "The budget ledger could not store the answer, so it is not shown; it was charged.",
    "Tell the administrator. If you ask again, you are charged again.",
)
_CHARGED_BEFORE = "Earlier parts of the statement were charged and are cached: asking them again is free."
_NO_DATABASE = Row("08006", 503, "The database cannot be reached.", "Try again later.")

TABLE: Mapping[type[BaseException], Row] = MappingProxyType(
    {
        planning.InvalidSyntax: Row("42601", 400),
        planning.UnreadableValue: Row("22P02", 400),
        planning.UnreadableMoment: Row("22007", 400),
        planning.UndefinedOperator: Row("42883", 400),
        planning.AmbiguousFunction: Row("42725", 400),
        planning.StatementTooLong: Row("54000", 413),
        planning.StatementTooComplex: Row("54001", 422),
        planning.ReadOnly: Row("25006", 403),
        planning.UnknownTable: Row("42P01", 400),
        planning.UnknownColumn: Row("42703", 400),
        planning.AmbiguousColumn: Row("42702", 400),
        planning.UnsupportedSQL: Row("0A000", 422),
        planning.RowsNotShown: Row("0A000", 422),
        planning.NoRowAsked: Row("0A000", 422),
        planning.InvalidSetting: Row("22023", 422),
        planning.SensitivityUnbounded: Row("PD002", 422),
        planning.PolicyInvalid: _NOT_READY,
        planning.SchemaChanged: Row(
            "55000", 503, "The database's tables have changed since the policy was read.", "Tell the administrator."
        ),
        planning.FilesChanged: Row("55000", 503),
        privacy.SolverFailed: _FAILED,
        privacy.TooLarge: _FAILED,
        privacy.InvalidParameter: _FAILED,
        privacy.EntropyFailed: _FAILED,
        serving.AuthenticationFailed: Row("28P01", 401),
        serving.AnalystDisabled: Row("28000", 401),
        serving.InvalidRequest: Row("08P01", 422),
        serving.BudgetExhausted: Row("PD001", 403),
        serving.QueryTooExpensive: Row("PD001", 403),
        serving.DuplicateRequest: Row("23505", 409),
        serving.KeyReused: Row("23505", 422),
        serving.NoProposal: Row("PD003", 422),
        serving.NotDerivable: Row("PD006", 422),
        serving.Forbidden: Row("42501", 403),
        serving.PolicyWeakened: Row("PD004", 409),
        serving.PolicyRejected: Row("PD005", 409),
        serving.DataUnchecked: Row("55000", 503),
        serving.BackendUnavailable: _NO_DATABASE,
        serving.BackendConnectionLost: Row(
            "08006",
            503,
            "The connection to the database was lost.",
            "The charge stands. Check your budget, and ask again when the database is back.",
        ),
        serving.NoGroups: Row("55000", 503),
        serving.BackendFailed: _FAILED,
        serving.WithoutValue: _FAILED,
        serving.QueryFailed: Row(
            "57014",
            504,
            "The query failed; it was charged.",
            "It exceeded a limit, or the database or a worker failed; the log has the reason by the request id. Ask"
            "ing again is charged again. Check joins for a missing condition (EXPLAIN is free), or add a filter.",
        ),
        serving.PublicQueryFailed: Row("57014", 504),
        serving.ComputationFailed: Row("22000", 422),
        serving.TooManyFailures: Row("53400", 429),
        serving.QueryCancelled: Row(
            "57014",
            504,
            "The query exceeded its time or memory limit.",
            "The charge stands. Check joins for a missing condition (EXPLAIN is free), add a filter, or ask the "
            "administrator for more seconds or memory_mb in [database].",
        ),
        serving.CancelledByClient: Row("57014", 504),
        serving.CancelledEarly: Row("57014", 504),
        serving.TooManyQueries: Row("53300", 503),
        serving.TooManyOwnQueries: Row("53400", 429),
        serving.AnswersTooLarge: Row("53200", 503),
        serving.OwnAnswersTooLarge: Row("53200", 503),
        serving.RateLimited: Row("53400", 429),
        serving.NotAcceptable: Row("08P01", 406),
        serving.UnknownJob: Row("42704", 404),
        serving.JobNotDone: Row("55000", 409),
        serving.WireError: Row("08P01", 400),
        serving.WorkerFailed: _FAILED,
        serving.UnsafeRole: Row("42501", 500, _NOT_READY.sentence, _NOT_READY.hint),
        serving.LedgerMissing: _LEDGER,
        serving.LedgerInvalid: Row(
            "58030", 503, "The budget ledger is invalid, so nothing is answered.", "Tell the administrator."
        ),
        serving.LedgerUnavailable: _LEDGER,
        serving.LedgerFull: Row(
            "53100",
            503,
            "The budget ledger's disk is full, so nothing is answered.",
            _LEDGER.hint,
            uncharged=True,
        ),
        serving.LedgerReadOnly: Row(
            "25006",
            503,
            "The budget ledger is read-only, so nothing is answered.",
            _LEDGER.hint,
            uncharged=True,
        ),
        serving.LedgerUncertain: Row(
            "58030",
            503,
            "The budget ledger was lost during a write, so nothing is answered; a charge may stand.",
            "Check your budget once it is back, and tell the administrator.",
        ),
        serving.ChargeUnsettled: _UNSETTLED,
        serving.PaidAnswerUnread: Row(
            "58030", 503, "The answer is charged, and the budget ledger could not be read.", "Ask again: it is free."
        ),
        serving.SettledBefore: _UNSETTLED,
        serving.AnalystExists: Row("42710", 409),
        serving.UnknownAnalyst: Row("42704", 404),
        serving.UnknownAccount: Row("42704", 404),
        serving.ConfigurationInvalid: _NOT_READY,
    }
)
"""A test checks that every concrete error class of the three packages has a row."""


def row_of(error: BaseException) -> Row:
    """The row of an error's class or of its nearest listed base; XX000 for unforeseen errors."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), _FAILED)


def problem(error: BaseException) -> Problem:
    """What a client sees of an error. Its cause and context are never read.

    Returns: the error's own text if it is written for clients, else the fixed sentence of its row.
    """
    row = row_of(error)
    if row.sentence is not None:
        return _fixed(row, charged_before=getattr(error, "charged_before", False))
    assert isinstance(error, planning.PlannerError | serving.ServerError), "only these carry words for clients"
    position = error.position if isinstance(error, planning.PlannerError | serving.WireError) else None
    code = error.code if isinstance(error, serving.WireError) else row.code
    return Problem(code, error.message, error.hint, position, row.status)


def _fixed(row: Row, *, charged_before: bool) -> Problem:
    """The sentence of a row, and whether anything was charged."""
    assert row.sentence is not None, "the caller has looked"
    sentence, hint = row.sentence, row.hint
    if charged_before:
        hint = " ".join(filter(None, (_CHARGED_BEFORE, hint)))
    elif row.uncharged:
        sentence = f"{sentence.removesuffix('.')}; nothing was charged for this."
    return Problem(row.code, sentence, hint, None, row.status)
