"""The errors of the server. Messages are written for clients; causes stay in the log."""

from __future__ import annotations


class ServerError(Exception):
    """Base of every error of this package.

    Attributes:
      message: safe for clients.
      hint: what to do, or None.
      charged_before: earlier parts of the same statement were charged and are cached.
    """

    charged_before = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class AuthenticationFailed(ServerError):
    """The key is missing or unknown."""


class AnalystDisabled(AuthenticationFailed):
    """The holder of the key is disabled."""


class InvalidRequest(ServerError):
    """The request does not match the API's description."""


class BudgetExhausted(ServerError):
    """The charge exceeds the rest of the budget."""


class QueryTooExpensive(ServerError):
    """The charge exceeds the cap on single queries."""


class DuplicateRequest(ServerError):
    """The idempotency key was used for a charge already."""


class KeyReused(ServerError):
    """The idempotency key belongs to another request."""


class NoProposal(ServerError):
    """No epsilon can be proposed for an accuracy target; nothing was charged."""


class NotDerivable(ServerError):
    """The request asks for a derived answer only, and it cannot be derived; nothing was charged."""


class Forbidden(ServerError):
    """The key's role does not permit this."""


class PolicyWeakened(ServerError):
    """A policy protects less than the one in force, and nobody has confirmed it."""


class PolicyRejected(ServerError):
    """The new policy is invalid or does not fit the database; the old one stays in force."""


class DataUnchecked(ServerError):
    """Declared keys were not checked for this data version."""


class BackendUnavailable(ServerError):
    """The database cannot be reached; no private row was read."""


class BackendConnectionLost(ServerError):
    """The connection broke after the query had started; it is retried once under the same reservation."""


class NoGroups(ServerError):
    """A public list of the question's groups has become empty; no private row was read."""


class BackendFailed(ServerError):
    """The database refused a statement of the planner; its message stays in the log."""


class WithoutValue(BackendFailed):
    """A value of a statement does not exist. Spark's own sign; other drivers have exceptions for it."""


class QueryFailed(ServerError):
    """The query failed after private rows could have been read. One error for all reasons, as the reason may
    depend on rows.
    """


class PublicQueryFailed(ServerError):
    """A query over public tables exceeded a limit; nothing was charged."""


class ComputationFailed(ServerError):
    """A query over public tables computes something without a value; nothing was charged."""


class TooManyFailures(ServerError):
    """Too many queries failed after their charge. Each failure could reveal something about a row."""


class QueryCancelled(ServerError):
    """The query exceeded its time or memory limit."""


class CancelledByClient(ServerError):
    """The client cancelled; the charge stands, since private rows could have been read."""


class CancelledEarly(ServerError):
    """The client cancelled before a private row was read."""


class TooManyQueries(ServerError):
    """All workers are busy and the queue is full."""


class TooManyOwnQueries(TooManyQueries):
    """The analyst has as many open questions as one may have; nothing was charged."""


class AnswersTooLarge(ServerError):
    """Too many large answers are being read. The answer is cached, and asking again is free."""


class OwnAnswersTooLarge(AnswersTooLarge):
    """The analyst's own large answers fill the analyst's share."""


class RateLimited(ServerError):
    """The key is used too often or for too many requests at once; nothing was charged.

    Attributes:
      retry_after_s: when to try again, in whole seconds, >= 1.
    """

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message, hint=f"Try again in {retry_after_s} s; nothing was charged.")
        self.retry_after_s = retry_after_s


class WorkerFailed(ServerError):
    """A worker process died or raised something unforeseen."""


class UnsafeRole(ServerError):
    """The database role may do more than SELECT, so the proxy does not start."""


class LedgerMissing(ServerError):
    """The ledger is gone; starting without it would reset every budget."""


class LedgerInvalid(ServerError):
    """The ledger belongs to another policy, is invalid, or has another version."""


class LedgerUnavailable(ServerError):
    """The ledger cannot be read or written, so nothing is answered."""


class LedgerFull(LedgerUnavailable):
    """The ledger has no room for another entry; cached answers can still be read."""


class LedgerReadOnly(LedgerUnavailable):
    """The ledger's file system or database is read-only."""


class LedgerUncertain(LedgerUnavailable):
    """The ledger's database was lost during a write, so its outcome is unknown."""


class ChargeUnsettled(LedgerUnavailable):
    """The charge could not be settled. It stands, and no answer leaves."""


class PaidAnswerUnread(LedgerUnavailable):
    """A cached answer was paid for, and could then not be read. It is free from now on."""


class SettledBefore(LedgerInvalid):
    """Another proxy settled the charge, taking this one for dead. It stands, and no answer leaves."""


class AnalystExists(ServerError):
    """An analyst of that name exists already."""


class UnknownAnalyst(ServerError):
    """There is no analyst of that name."""


class UnknownAccount(ServerError):
    """There is no account of that name."""


class NotAcceptable(ServerError):
    """The requested form of answer does not exist."""


class UnknownJob(ServerError):
    """The analyst has no such job."""


class JobNotDone(ServerError):
    """The job is still running."""


class WireError(ServerError):
    """An error of PostgreSQL's protocol with its own SQLSTATE."""

    def __init__(self, message: str, code: str, *, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.position = position


class ConfigurationInvalid(ServerError):
    """A secret, a path or a setting is missing or malformed."""
