"""Unit tests of server/ledger/integrity/, one file per module or group of modules."""
