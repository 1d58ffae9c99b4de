"""Unit tests of server/ledger/accounts/, one file per module or group of modules."""
