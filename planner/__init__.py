"""SQL text, schema and policy to a Plan, purely: no database and no solver in here."""

import logging


def _never(record: logging.LogRecord) -> bool:
    """The parser library's warnings quote the statement, whose literals nobody but the analyst may see."""
    return False


logging.getLogger("sqlglot").addFilter(_never)
