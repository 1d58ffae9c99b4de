"""Measurements: how a truncated answer becomes a noisy one. `build.measurement` makes them by name."""
