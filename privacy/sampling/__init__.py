"""Join tuples sampled before they are truncated: drawing them, scaling up, and what it costs."""
