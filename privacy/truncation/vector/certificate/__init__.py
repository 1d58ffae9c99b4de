"""Feasible shares, any multipliers, one pass over the tuples: what bounds the optimum."""
