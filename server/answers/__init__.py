"""What is done for a request, and what released numbers determine: kept answers, what follows, days, workloads."""
