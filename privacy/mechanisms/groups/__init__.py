"""Mechanisms that measure all groups of a GROUP BY together (privacy.md section 5)."""
