"""Unit tests of privacy/sampling/units/, one file per module or group of modules."""
