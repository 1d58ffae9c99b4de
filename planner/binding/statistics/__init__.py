"""Aggregate calls: what is counted, added up or ranked, and what follows from it."""
