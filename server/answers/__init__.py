"""Answers that are kept: what names one, how it is written down, and that it is measured once."""
