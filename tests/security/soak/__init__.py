"""A long run: mixed clients, faults at random from a seed, and whether ledger, answers and log agree at its end."""
