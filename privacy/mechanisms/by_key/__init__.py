"""Counts of privacy units by many public keys: LPA, FPA, GS-R, GS-S, GS, one release of all keys at once."""
