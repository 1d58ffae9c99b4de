"""Unit tests of server/policy/, one file per module or group of modules."""
