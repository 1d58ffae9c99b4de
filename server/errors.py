"""What the server can refuse or fail at. A message is written for the client; the cause stays in the log."""

from __future__ import annotations


class ServerError(Exception):
    """Base of every error raised by this package.

    Attributes:
      message: safe to send to a client.
      hint: what to do, or None.
      charged_before: other parts of the same statement were charged before this happened, and are kept.
    """

    charged_before = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class AuthenticationFailed(ServerError):
    """No key, or one that belongs to nobody."""


class AnalystDisabled(AuthenticationFailed):
    """The key is right, and its holder is disabled."""


class InvalidRequest(ServerError):
    """A request body that is not what the API documents."""


class BudgetExhausted(ServerError):
    """The charge is more than what is left."""


class QueryTooExpensive(ServerError):
    """The charge is above the cap on single queries; the budget itself may have room."""


class DuplicateRequest(ServerError):
    """The idempotency key has made a charge already."""


class KeyReused(ServerError):
    """The idempotency key belongs to another request."""


class NoProposal(ServerError):
    """No epsilon can be proposed for an accuracy; nothing was charged."""


class NotDerivable(ServerError):
    """Only an answer that follows from paid ones was wanted, and none does; nothing was charged."""


class Forbidden(ServerError):
    """The key does not open this: another role is needed."""


class PolicyWeakened(ServerError):
    """A policy protects less than the one in force, and nobody has confirmed it."""


class PolicyRejected(ServerError):
    """A policy that is invalid or does not fit the database was not taken over."""


class DataUnchecked(ServerError):
    """The policy declares keys that this version of the data has not been checked for."""


class BackendUnavailable(ServerError):
    """The database could not be reached; no private row was read."""


class BackendConnectionLost(ServerError):
    """The connection broke after the query had begun; worth one retry under the same reservation."""


class NoGroups(ServerError):
    """A public list of a question's groups has become empty: no private row was read."""


class BackendFailed(ServerError):
    """The database refused a statement that the planner thought sound; its words stay in the log."""


class QueryFailed(ServerError):
    """Whatever went wrong after private rows could have been read: one error, since which one may depend on them."""


class PublicQueryFailed(ServerError):
    """A query over public tables went over a limit; nothing was charged."""


class ComputationFailed(ServerError):
    """A query over public tables computes something that has no value; nothing was charged."""


class TooManyFailures(ServerError):
    """An analyst whose queries keep failing after their charge; each failure could say something about a row."""


class QueryCancelled(ServerError):
    """Over the time or memory limit."""


class CancelledByClient(ServerError):
    """Whoever asked does not want the answer any more; the charge stands, since private rows could have been read."""


class CancelledEarly(ServerError):
    """Whoever asked does not want the answer any more, and nothing private has been read."""


class TooManyQueries(ServerError):
    """Every worker is busy and the queue is full."""


class TooManyOwnQueries(TooManyQueries):
    """As many questions of the analyst's own are under way, or wait, as one may have; nothing was charged."""


class AnswersTooLarge(ServerError):
    """No room for one more large answer while others are being read; it is kept, and asking again is free."""


class OwnAnswersTooLarge(AnswersTooLarge):
    """The analyst's own readers hold as much as one may."""


class RateLimited(ServerError):
    """One key asks too often, or too many things at once; nothing was charged.

    Attributes:
      retry_after_s: when to try again, in whole seconds, >= 1.
    """

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message, hint=f"Try again in {retry_after_s} s; nothing was charged.")
        self.retry_after_s = retry_after_s


class WorkerFailed(ServerError):
    """A worker process died or raised something unforeseen."""


class UnsafeRole(ServerError):
    """The database role could do more than SELECT; the proxy does not start."""


class LedgerMissing(ServerError):
    """There is no ledger where one has been; starting would reset every budget."""


class LedgerInvalid(ServerError):
    """The ledger is not the one that belongs to this policy, or is of another version."""


class LedgerUnavailable(ServerError):
    """The ledger could not be read or written; without it nothing is asked of the database."""


class LedgerFull(LedgerUnavailable):
    """There is no room for another entry; what is kept can still be read."""


class LedgerReadOnly(LedgerUnavailable):
    """The ledger's file system or database takes no writes."""


class LedgerUncertain(LedgerUnavailable):
    """The ledger's database was lost during a write: whether it was done is not known."""


class ChargeUnsettled(LedgerUnavailable):
    """The ledger could not be told what became of a charge, so no answer leaves; the charge stands."""


class SettledBefore(LedgerInvalid):
    """The charge was settled already, as that of a proxy that was taken for dead; it stands, and no answer leaves."""


class AnalystExists(ServerError):
    """An analyst of that name is already there."""


class UnknownAnalyst(ServerError):
    """No analyst of that name."""


class UnknownAccount(ServerError):
    """No account of that name."""


class NotAcceptable(ServerError):
    """A form of answer that there is not."""


class UnknownJob(ServerError):
    """No job of that name, or another analyst's."""


class JobNotDone(ServerError):
    """The result of a job that is still under way."""


class WireError(ServerError):
    """An error of a protocol, which brings its SQLSTATE along.

    Attributes:
      code: the SQLSTATE.
      position: 1-based offset in the statement, or None.
    """

    def __init__(self, message: str, code: str, *, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.position = position


class ConfigurationInvalid(ServerError):
    """A secret, a path or a setting that the server needs is missing or malformed."""
