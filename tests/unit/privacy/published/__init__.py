"""Unit tests of privacy/published/, one file per module or group of modules."""
