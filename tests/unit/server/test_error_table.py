from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import planner
import privacy
import server
from planner.errors import InvalidSyntax, PlannerError, PolicyInvalid, SchemaChanged
from privacy.errors import PrivacyError, SolverFailed
from server.error_table import TABLE, problem
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    BudgetExhausted,
    ConfigurationInvalid,
    LedgerFull,
    LedgerInvalid,
    LedgerMissing,
    LedgerReadOnly,
    LedgerUnavailable,
    QueryCancelled,
    ServerError,
    UnsafeRole,
    WireError,
    WorkerFailed,
)
from server.postprocessing.computed_response import after_charges

SECRET = "Key (o_custkey)=(4711) is not present"
BASES = (PlannerError, PrivacyError, ServerError)
NOT_FOR_CLIENTS = (
    PolicyInvalid,
    SchemaChanged,
    BackendUnavailable,
    BackendConnectionLost,
    BackendFailed,
    QueryCancelled,
    WorkerFailed,
    UnsafeRole,
    LedgerMissing,
    LedgerInvalid,
    LedgerUnavailable,
    ConfigurationInvalid,
)


def descendants(kind: type[Exception]) -> Iterator[type[Exception]]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def test_every_error_of_the_three_packages_has_its_row() -> None:
    for package in (privacy, planner, server):
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.endswith("errors"):
                importlib.import_module(f"{package.__name__}.{module.name}")
    ours = {kind for base in BASES for kind in descendants(base)}
    ours = {kind for kind in ours if kind.__module__.split(".")[0] in ("privacy", "planner", "server")}
    assert len(ours) >= 30
    assert {kind for kind in ours if WireError not in kind.__mro__[1:]} == set(TABLE)  # theirs they bring along


def test_a_row_is_an_sqlstate_and_an_http_error() -> None:
    for row in TABLE.values():
        from server.error_table import Row

        assert isinstance(row, Row), row
        assert re.fullmatch(r"[0-9A-Z]{5}", row.code), row
        assert 400 <= row.status <= 504, row
        assert row.hint is None or row.sentence is not None, row


def test_the_documented_codes() -> None:
    for name, code, status in [
        ("InvalidSyntax", "42601", 400),
        ("UnknownTable", "42P01", 400),
        ("UnknownColumn", "42703", 400),
        ("AmbiguousColumn", "42702", 400),
        ("UnsupportedSQL", "0A000", 422),
        ("InvalidSetting", "22023", 422),
        ("ReadOnly", "25006", 403),
        ("StatementTooLong", "54000", 413),
        ("StatementTooComplex", "54001", 422),
        ("SensitivityUnbounded", "PD002", 422),
        ("AuthenticationFailed", "28P01", 401),
        ("BudgetExhausted", "PD001", 403),
        ("BackendUnavailable", "08006", 503),
        ("BackendConnectionLost", "08006", 503),
        ("QueryCancelled", "57014", 504),
        ("TooManyQueries", "53300", 503),
        ("TooManyOwnQueries", "53400", 429),
        ("UnsafeRole", "42501", 500),
        ("SolverFailed", "XX000", 500),
        ("BackendFailed", "XX000", 500),
        ("WorkerFailed", "XX000", 500),
    ]:
        row = next(row for kind, row in TABLE.items() if kind.__name__ == name)
        assert (row.code, row.status) == (code, status), name


def test_an_analysts_error_keeps_its_words_and_position() -> None:
    told = problem(InvalidSyntax("expected FROM", hint="SELECT ... FROM ...", position=8))
    assert (told.code, told.message, told.hint, told.position) == ("42601", "expected FROM", "SELECT ... FROM ...", 8)


def test_a_server_error_for_clients_keeps_its_words() -> None:
    told = problem(BudgetExhausted("too much", hint="less"))
    assert (told.code, told.message, told.hint, told.position, told.status) == (
        "PD001",
        "too much",
        "less",
        None,
        403,
    )


def test_no_word_that_was_not_written_for_clients_reaches_them() -> None:
    cases: list[BaseException] = [
        *(kind(SECRET, hint=SECRET) for kind in NOT_FOR_CLIENTS),
        *(kind(SECRET) for kind in descendants(PrivacyError)),
        PrivacyError(SECRET),
        ServerError(SECRET, hint=SECRET),
        PlannerError(SECRET, hint=SECRET),
        RuntimeError(SECRET),
        KeyError(SECRET),
        KeyboardInterrupt(SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
    ]
    for error in cases:
        assert "4711" not in str(problem(error)), error
        assert "custkey" not in repr(problem(error)), error


def test_causes_and_notes_are_never_told() -> None:
    error = BudgetExhausted("too much")
    error.__cause__ = RuntimeError(SECRET)
    error.add_note(SECRET)
    assert "4711" not in str(problem(error))


def test_the_unforeseen_is_xx000() -> None:
    assert (problem(ZeroDivisionError()).code, problem(ZeroDivisionError()).status) == ("XX000", 500)


def test_a_more_specific_error_takes_its_ancestors_row() -> None:
    kind = type("Narrower", (SolverFailed,), {"__module__": "tests.elsewhere"})
    assert problem(kind(SECRET)) == problem(SolverFailed())


def test_a_ledger_that_fails_says_that_nothing_was_charged_unless_parts_were() -> None:
    cases: list[type[ServerError]] = [LedgerUnavailable, LedgerFull, LedgerReadOnly, LedgerMissing]
    for kind in cases:
        alone = problem(kind(SECRET))
        assert alone.message.endswith("; nothing was charged for this."), kind
        with pytest.raises(kind) as raised, after_charges() as charged:
            charged.append("the first part")
            raise kind(SECRET)
        told = problem(raised.value)
        assert "nothing was charged" not in told.message, kind
        assert told.hint is not None, kind
        assert told.hint.startswith("Earlier parts of the statement were charged and are cached"), kind
        assert "Tell the administrator." in told.hint, kind
        assert SECRET not in f"{told}", kind


def test_where_no_part_was_charged_an_error_stays_as_it_is() -> None:
    with pytest.raises(BackendUnavailable) as raised, after_charges():
        raise BackendUnavailable(SECRET)
    assert problem(raised.value) == problem(BackendUnavailable(SECRET))
