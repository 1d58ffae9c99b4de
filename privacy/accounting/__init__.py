"""Events, what they cost together, and whether one more fits."""
