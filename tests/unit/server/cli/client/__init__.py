"""Unit tests of server/cli/client/, one file per module or group of modules."""
