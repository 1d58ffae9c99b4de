"""The exact numerics of a subsample's privacy loss: E[exp(h(K))] for a binomial K."""
