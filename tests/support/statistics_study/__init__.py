"""What the benchmark of statistics asks, of which data, and what other libraries say to the same."""
