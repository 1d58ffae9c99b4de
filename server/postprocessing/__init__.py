"""Statements that compute something from several answers, or what one answer alone does not show."""
