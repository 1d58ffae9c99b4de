"""Unit tests of server/http/limits/, one file per module or group of modules."""
