"""What `SHOW noisegate.budget` says: what is left, how many questions that is, and at what the budget protects."""

from __future__ import annotations

from planner.sql.result_names import ResultType
from server.ledger.account import analyst_account
from server.ledger.accounts.guarantee import guarantee
from server.ledger.outlook import Outlook
from server.pgwire.codec.result_rows import Table

_COLUMNS: tuple[tuple[str, ResultType], ...] = (
    ("epsilon", "float8"),
    ("delta", "float8"),
    ("epsilon_left", "float8"),
    ("delta_left", "float8"),
    ("questions_left", "int8"),
    ("protects", "text"),
)


def budget_table(analyst: str, outlook: Outlook) -> Table:
    """One row: the analyst's own account, and how many more questions like the last ones all who pay can pay for."""
    own = next(one for one in outlook.accounts if one.name == analyst_account(analyst))
    amounts = (own.grant.epsilon, own.grant.delta, own.epsilon_left, own.delta_left)
    return Table.of(_COLUMNS, [(*amounts, outlook.questions_left, guarantee(own))])
