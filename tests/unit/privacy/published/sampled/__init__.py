"""Unit tests of privacy/published/sampled/, one file per module or group of modules."""
