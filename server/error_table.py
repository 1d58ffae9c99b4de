"""One table: error class -> SQLSTATE -> HTTP status, and what a client may read of it.

An error written for clients gives its own message and hint. Any other gives the sentence of its row: what a
database, a solver or Python says can quote a private value, so no such word ever leaves the process.
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
    """What a client is told of an error, in every protocol.

    Attributes:
      code: the SQLSTATE.
      message: what is wrong, one sentence or two.
      hint: what to do about it, or None.
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
      code: the SQLSTATE; PD001 to PD006 are our own.
      status: the HTTP status.
      sentence: what clients read instead of the error's own message and hint; None if that was written for them.
      hint: goes with `sentence`.
      uncharged: `sentence` goes on to say that nothing was charged, unless other parts of the statement were.
    """

    code: str
    status: int
    sentence: str | None = None
    hint: str | None = None
    uncharged: bool = False


_FAILED = Row(
    "XX000", 500, "The proxy could not finish this request.", "Tell the custodian the request id; it is in the log."
)
_NOT_READY = Row("F0000", 500, "The proxy is not set up to serve.", "Tell the custodian.")
_LEDGER = Row(
    "58030",
    503,
    "The budget ledger cannot be used, so nothing is answered.",
    "Tell the custodian.",
    uncharged=True,
)
_UNSETTLED = Row(
    "58030",
    503,
    "The budget ledger could not keep the answer, so it is not given; it was charged.",
    "Tell the custodian. Asked again, the question is charged again.",
)
_CHARGED_BEFORE = "What of the statement was answered before was charged and is kept: asked again, it is free."
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
            "55000", 503, "The database's tables have changed since the policy was read.", "Tell the custodian."
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
            "The charge stands; see what is left, and ask again once the database is back.",
        ),
        serving.NoGroups: Row("55000", 503),
        serving.BackendFailed: _FAILED,
        serving.QueryFailed: Row(
            "57014",
            504,
            "The query could not be finished; it was charged.",
            "It went over a limit, or the database or a worker failed: the log tells the custodian which, by the "
            "request id. Before it is asked again, which is charged again: if it joins, is a condition missing "
            "(EXPLAIN lists them, free)? Would a filter do?",
        ),
        serving.PublicQueryFailed: Row("57014", 504),
        serving.ComputationFailed: Row("22000", 422),
        serving.TooManyFailures: Row("53400", 429),
        serving.QueryCancelled: Row(
            "57014",
            504,
            "The query went over its time or memory limit.",
            "The charge stands. If it joins, is a condition missing (EXPLAIN lists them, free)? Else filter more, or "
            "ask the custodian for more seconds or memory_mb in [database].",
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
            "58030", 503, "The budget ledger is not what it was, so nothing is answered.", "Tell the custodian."
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
            "The budget ledger was lost while it was written, so nothing is answered; a charge may stand.",
            "See what is left once it is back, and tell the custodian.",
        ),
        serving.ChargeUnsettled: _UNSETTLED,
        serving.SettledBefore: _UNSETTLED,
        serving.AnalystExists: Row("42710", 409),
        serving.UnknownAnalyst: Row("42704", 404),
        serving.UnknownAccount: Row("42704", 404),
        serving.ConfigurationInvalid: _NOT_READY,
    }
)
"""Complete by test: every concrete class of the three packages' errors has its row."""


def row_of(error: BaseException) -> Row:
    """The row of the error's class or of its nearest listed ancestor; XX000 for what nobody foresaw."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), _FAILED)


def problem(error: BaseException) -> Problem:
    """What a client is told. Its cause and its context are never read.

    Args:
      error: anything that was raised.
    Returns: the error's own words if they were written for clients, else the fixed sentence of its row.
    """
    row = row_of(error)
    if row.sentence is not None:
        return _fixed(row, charged_before=getattr(error, "charged_before", False))
    assert isinstance(error, planning.PlannerError | serving.ServerError), "only these carry words for clients"
    position = error.position if isinstance(error, planning.PlannerError | serving.WireError) else None
    code = error.code if isinstance(error, serving.WireError) else row.code
    return Problem(code, error.message, error.hint, position, row.status)


def _fixed(row: Row, *, charged_before: bool) -> Problem:
    """The sentence of a row, with what it says of charges."""
    assert row.sentence is not None, "the caller has looked"
    sentence, hint = row.sentence, row.hint
    if charged_before:
        hint = " ".join(filter(None, (_CHARGED_BEFORE, hint)))
    elif row.uncharged:
        sentence = f"{sentence.removesuffix('.')}; nothing was charged for this."
    return Problem(row.code, sentence, hint, None, row.status)
