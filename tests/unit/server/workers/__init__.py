"""Unit tests of server/workers/, one file per module or group of modules."""
