"""Unit tests of server/explain/, one file per module or group of modules."""
