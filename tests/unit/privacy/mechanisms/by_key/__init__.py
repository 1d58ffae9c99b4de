"""Unit tests of privacy/mechanisms/by_key/, one file per module or group of modules."""
