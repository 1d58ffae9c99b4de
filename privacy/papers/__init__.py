"""Mechanisms of papers: served by name or compared with, the default of no question."""
