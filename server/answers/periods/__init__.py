"""Kept answers about closed periods: served again after a new load, beside a question about the open part alone."""
