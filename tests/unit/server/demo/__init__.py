"""Unit tests of server/demo/, one file per module or group of modules."""
