"""Unit tests of server/cli/output/, one file per module or group of modules."""
