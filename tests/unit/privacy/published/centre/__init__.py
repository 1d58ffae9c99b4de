"""Unit tests of privacy/published/centre/."""
