"""The truncation program: how much the join tuples weigh when nobody may contribute more than tau."""
