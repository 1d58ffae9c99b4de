"""One threshold for all groups, at which few people are removed."""
