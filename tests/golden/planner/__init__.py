"""Golden pairs: what an analyst asks, and what the database gets."""
