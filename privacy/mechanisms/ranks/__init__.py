"""Values by their rank: quantiles, and the values that about k privacy units lie beyond."""
