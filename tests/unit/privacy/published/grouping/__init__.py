"""Unit tests of privacy/published/grouping/, one file per module or group of modules."""
