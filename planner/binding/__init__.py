"""Names to catalog entries: a parsed statement to a BoundQuery in normal form."""
