"""Unit tests of server/connections/, one file per module or group of modules."""
