"""Unit tests of server/startup/, one file per module or group of modules."""
