"""The truncation program: the total weight of the join tuples when no unit may contribute more than tau."""
