"""What is said of a failure after its charge: to the analyst always the same, to the custodian what to look at."""

from __future__ import annotations

from structlog.testing import capture_logs

from privacy.errors import SolverFailed
from server.answers.run import charged_failure
from server.error_table import problem
from server.errors import BackendFailed, QueryCancelled, WorkerFailed
from server.ledger.charge import Charge, Reservation

RESERVATION = Reservation(1, Charge("ada", 1.0, 0.0, "my-request", "p", "q", "laplace"))


def test_the_log_says_what_to_look_at_and_the_analyst_hears_the_same_of_each() -> None:
    cases: list[tuple[Exception, str | None]] = [
        (QueryCancelled("secret-zebra"), "memory_mb"),
        (BackendFailed("secret-zebra"), "the database refused a statement"),
        (WorkerFailed("secret-zebra"), "a worker process failed"),
        (SolverFailed("secret-zebra"), None),
    ]
    for error, advice in cases:
        with capture_logs() as logs:
            raised = charged_failure(RESERVATION, error)
        (line,) = logs
        assert (line["request_id"], line["kind"]) == ("my-request", type(error).__name__), error
        assert (line["advice"] is None) if advice is None else advice in line["advice"], error
        assert "zebra" not in str(logs), error
        shown = problem(raised)
        assert shown == problem(charged_failure(RESERVATION, ValueError())), error
        assert "within its limits" not in shown.message, "it may have been no limit"
        assert all(words in str(shown.hint) for words in ("request id", "charged again", "EXPLAIN")), error
