"""Games of an adversary who tells two neighbouring databases apart, and what a claim allows."""
