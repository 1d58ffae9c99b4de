"""Unit tests of server/results/, one file per module or group of modules."""
