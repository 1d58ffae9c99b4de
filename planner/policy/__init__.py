"""The custodian's contract: read, validated against a catalog, linted, compared."""
