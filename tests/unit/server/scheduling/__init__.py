"""Unit tests of server/scheduling/, one file per module or group of modules."""
