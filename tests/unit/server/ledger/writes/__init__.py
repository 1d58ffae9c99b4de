"""Unit tests of server/ledger/writes/, one file per module or group of modules."""
