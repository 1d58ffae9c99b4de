"""Plans SQL: from a text, a schema and a policy to a Plan, without a database or a solver."""

import logging


def _never(record: logging.LogRecord) -> bool:
    """Drop warnings of the parser library, which quote literals that only the analyst may see."""
    return False


logging.getLogger("sqlglot").addFilter(_never)
