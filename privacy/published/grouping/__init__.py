"""Counts of privacy units by many public keys, as published: one release of all of them at once."""
