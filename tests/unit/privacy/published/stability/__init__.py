"""Unit tests of privacy/published/stability/."""
