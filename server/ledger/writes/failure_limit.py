"""The limit on failures: how often queries may fail after private rows could have been read.

Whether a query fails is an output that no epsilon covers (privacy.md section 7): all failures look the same, are
charged, and are few; and a query that has failed once is not asked again, whatever the rows have become. They are
counted from the ledger in the write that reserves, so the limit holds on every proxy of a ledger and over restarts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from server.errors import TooManyFailures, TooManyOwnQueries, TooManyQueries
from server.ledger.charge import Charge
from server.ledger.entry_contents import EntryKind
from server.ledger.tables.schema import FAILURES
from server.ledger.writes.journal import Journal

MAX_FAILURES = 20
"""Of one analyst within WINDOW_MS, those under way included."""

MAX_DATASET_FAILURES = 200
"""Of all analysts together within WINDOW_MS, those under way included."""

WINDOW_MS = 24 * 3_600_000
"""A failure counts so long."""

CLAIM_MS = 600_000
"""A reservation that is older is under way no more: no question takes so long, so its proxy could not settle it."""

_FAILED = (
    f"SELECT kind, content FROM entries WHERE {FAILURES} AND at_ms > ?"
    f" ORDER BY at_ms DESC, number DESC LIMIT {MAX_DATASET_FAILURES}"
)

_UNDER_WAY = (
    "SELECT c.analyst FROM charges c JOIN entries e ON e.number = c.entry"
    " WHERE c.state = 'reserved' AND c.repeats IS NULL AND e.at_ms > ?"
)

_HINT = "nothing was charged; ask the custodian, whose log says why"


def asked_failures(journal: Journal, charge: Charge) -> Callable[[], None]:
    """What refuses a charge that would be one failure too many; asked for beside other questions.

    A crash counts as a failure, but the same query may be asked again after one; what the client cancelled does not
    count.
    Raises: the returned function: TooManyFailures when too many queries failed within a day, or this one did;
      TooManyOwnQueries or TooManyQueries when as many are under way as may still fail. Nothing is charged then.
    Cost: one scan of at most MAX_DATASET_FAILURES entries by an index, and one of the charges that are open.
    """
    failed = journal.writing.asked(_FAILED, journal.at_ms - WINDOW_MS)
    under_way = journal.writing.asked(_UNDER_WAY, journal.at_ms - CLAIM_MS)

    def check() -> None:
        failures = [(kind, json.loads(content)) for kind, content in failed()]
        open_by = Counter(analyst for (analyst,) in under_way())
        mine = [(kind, said["plan_hash"]) for kind, said in failures if said["analyst"] == charge.analyst]
        if len(mine) >= MAX_FAILURES:
            raise TooManyFailures(f"{MAX_FAILURES} of your queries failed within a day", hint=_HINT)
        if (EntryKind.FAILED, charge.plan_hash) in mine:
            raise TooManyFailures("this query failed already within a day", hint=_HINT)
        if len(failures) >= MAX_DATASET_FAILURES:
            raise TooManyFailures(f"{MAX_DATASET_FAILURES} queries over this data failed within a day", hint=_HINT)
        if len(mine) + open_by[charge.analyst] >= MAX_FAILURES:
            hint = "nothing was charged; wait for one of them to end"
            raise TooManyOwnQueries(f"{open_by[charge.analyst]} of your queries are under way", hint=hint)
        if len(failures) + open_by.total() >= MAX_DATASET_FAILURES:
            raise TooManyQueries("as many queries are under way as may fail", hint="try again; nothing was charged")

    return check
