"""The mathematics: truncation, mechanisms, accounting. No SQL and no I/O in here."""
