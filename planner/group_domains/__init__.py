"""Which groups an answer has, from public facts only."""
