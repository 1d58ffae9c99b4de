"""Unit tests of privacy/sampling/growth/, one file per module or group of modules."""
