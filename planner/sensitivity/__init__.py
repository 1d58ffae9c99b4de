"""Who owns a join tuple, how many tuples one unit can have (Delta), in how many groups (L0)."""
