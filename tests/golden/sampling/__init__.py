"""Golden pairs of sampled questions: what an analyst asks at a rate of 1/8, and what the database gets."""
