"""Mechanisms as published, and others to compare with: complete, and no default of any question."""
