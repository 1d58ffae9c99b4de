"""A copy of the policy's tables in one local file."""
