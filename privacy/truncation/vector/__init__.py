"""The vector program: few people removed, so that nobody's contribution to all groups together is longer than tau."""
