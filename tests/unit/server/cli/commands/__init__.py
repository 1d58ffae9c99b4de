"""Unit tests of server/cli/commands/, one file per module or group of modules."""
