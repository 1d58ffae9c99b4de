"""Noisy underestimates at every threshold, of which the largest wins."""
