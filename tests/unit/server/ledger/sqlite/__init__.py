"""Unit tests of server/ledger/sqlite/, one file per module or group of modules."""
