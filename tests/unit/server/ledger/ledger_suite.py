"""What every ledger does, whatever holds its tables. A store's test file inherits this and brings the fixtures."""

from __future__ import annotations

from tests.unit.server.ledger.suite.accountings import Accountings
from tests.unit.server.ledger.suite.accounts import Accounts
from tests.unit.server.ledger.suite.analysts import Analysts
from tests.unit.server.ledger.suite.cached_answers import CachedAnswers
from tests.unit.server.ledger.suite.claims import Claims
from tests.unit.server.ledger.suite.clocks import Clocks
from tests.unit.server.ledger.suite.crashes import Crashes
from tests.unit.server.ledger.suite.failures import Failures
from tests.unit.server.ledger.suite.grants import Grants
from tests.unit.server.ledger.suite.questions import Questions
from tests.unit.server.ledger.suite.records import Records
from tests.unit.server.ledger.suite.renewals import Renewals
from tests.unit.server.ledger.suite.reservations import Reservations
from tests.unit.server.ledger.suite.tunings import Tunings


class LedgerSuite(
    Analysts,
    Reservations,
    Claims,
    Clocks,
    Failures,
    Accounts,
    Accountings,
    Grants,
    Renewals,
    Questions,
    CachedAnswers,
    Crashes,
    Tunings,
    Records,
):
    """To be inherited with the fixtures `ledger` (ada may spend epsilon 1, delta 1e-6), `clock` and `reopen`."""
