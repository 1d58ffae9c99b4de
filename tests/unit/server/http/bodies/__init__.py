"""Unit tests of server/http/bodies/, one file per module or group of modules."""
