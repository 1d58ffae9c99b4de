"""SQL trees, types, literals and time zones, which all other stages share.

It knows no query, no policy and no data.
"""
