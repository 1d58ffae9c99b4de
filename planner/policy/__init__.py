"""The policy: read from TOML, validated against a catalog, drafted, and compared with an older one.

In: TOML text and a schema. Out: a `Policy`, problems and advice as sentences, a draft. It reads no private row.
"""
